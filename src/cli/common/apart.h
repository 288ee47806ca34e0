/*
 * Which GPUs of a plan have no access to each other's memory on a machine: plan
 * and topology do not know each other.
 */
#ifndef GT_CLI_COMMON_APART_H
#define GT_CLI_COMMON_APART_H

#include <stdint.h>

struct gt_plan;
struct gt_topo;

/*
 * Returns the number of a rank's GPU in order of dev, by its bus id; GT_NONE:
 * the machine has none of that.
 */
uint32_t gt_apart_gpu(const struct gt_topo *topo, const struct gt_plan *plan,
		      uint32_t rank);

/* Returns how many pairs of ranks lack access, one way at least. */
uint32_t gt_apart_pairs(const struct gt_topo *topo, const struct gt_plan *plan);

#endif
