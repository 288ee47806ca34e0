/*
 * The order in which NCCL lists a machine's nodes, which decides between
 * routes and channels that are equally good.
 *
 * Each rank keeps of the file its own GPU, all network ports and what is above
 * them; NCCL puts what the ranks kept into one tree, rank 0's first.  So what
 * has a port or GPU 0 below it comes before what only later ranks have.
 */
#ifndef GT_TOPO_NCCL_ORDER_H
#define GT_TOPO_NCCL_ORDER_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_topo;

/*
 * Makes the list of all nodes in that order, and by node its place in it.
 * NVSwitches, and what has neither GPU nor port below it, come last.
 */
int gt_nccl_order_new(const struct gt_topo *topo, struct gt_arena *arena,
		      uint32_t **nodes, uint32_t **places, struct gt_err *err);

#endif
