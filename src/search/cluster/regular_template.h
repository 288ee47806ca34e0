/*
 * Templates in which every rank's trees are like the next one's: those that
 * suffice where all ranks of a node are alike.
 */
#ifndef GT_SEARCH_CLUSTER_REGULAR_TEMPLATE_H
#define GT_SEARCH_CLUSTER_REGULAR_TEMPLATE_H

#include <stdint.h>

struct gt_arena;
struct gt_block_tree;
struct gt_quotient;
struct gt_quotient_rows;

/* Which rank is the k-th one as seen from another. */
enum gt_regular_order {
	GT_REGULAR_ROTATED,  /* so many further on, round the node */
	GT_REGULAR_MIRRORED, /* bits exchanged, where ranks are a power of 2 */
	GT_NREGULAR
};

/*
 * Set trees[0] and trees[1] of a root, at home and away: a star in its own
 * node; in others the block arrives at the root's number and those next in the
 * order, `arrivals` in all, each over its nearest port from its like, and the
 * rest hang from these.  Memory is the arena's.  GT_ENO where some hop has no
 * route, or there is no such order; GT_ESYS when memory ran out.
 */
int gt_regular_trees(const struct gt_quotient *q,
		     const struct gt_quotient_rows *rows,
		     enum gt_regular_order order, uint32_t arrivals,
		     uint32_t root, struct gt_arena *arena,
		     struct gt_block_tree *trees);

#endif
