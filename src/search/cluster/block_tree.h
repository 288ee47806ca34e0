/*
 * A tree along which a rank's block goes: in its own node (at home), or in
 * every other node (away), where it arrives over the network.
 */
#ifndef GT_SEARCH_CLUSTER_BLOCK_TREE_H
#define GT_SEARCH_CLUSTER_BLOCK_TREE_H

#include <stdint.h>

#include "search/cluster/quotient_rows.h"

struct gt_arena;
struct gt_quotient;

/* How a rank of another node gets a block from the network. */
struct gt_network_hop {
	uint32_t from;    /* local rank of the sending node */
	uint32_t out, in; /* ports */
};

struct gt_block_tree {
	uint32_t root;   /* local rank; the number of ranks if it is away */
	int32_t *parent; /* local rank -> parent, -1: root or network */
	struct gt_network_hop *net; /* of ranks of an away tree that have -1 */
	int32_t *loads;             /* by row */
	int64_t weight; /* over gt_block_trees.denominator: its root's share */
};

/* Set the tree's loads, from its parents and network hops. */
void gt_block_tree_load(const struct gt_quotient *q,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree);

/*
 * The root's cheapest tree under prices of rows, with its loads; of equals one
 * that stays in the node, and is flat.  Memory is the arena's.  GT_ENO when
 * some rank cannot be reached, GT_ESYS when memory ran out.
 */
int gt_block_tree_cheapest(const struct gt_quotient *q,
			   const struct gt_quotient_rows *rows,
			   const double *prices, struct gt_arena *arena,
			   struct gt_block_tree *tree);

#endif
