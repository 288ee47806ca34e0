/*
 * This finds which network card a plan sends a rank's bytes to other hosts
 * over: its hops go over links "NIC/<bus id>>NET/..." (gtopo-plan(5)).
 */
#ifndef GT_EXEC_LINK_NIC_OF_RANK_H
#define GT_EXEC_LINK_NIC_OF_RANK_H

#include <stdint.h>

struct gt_plan;

enum { GT_NIC_OF_RANK_MAX = 32 };

/*
 * The bus id of the card that most of the rank's hops over a network leave by;
 * 0 when the plan has no such hop of it.
 */
int gt_nic_of_rank(const struct gt_plan *plan, uint32_t rank,
		   char nic[GT_NIC_OF_RANK_MAX]);

#endif
