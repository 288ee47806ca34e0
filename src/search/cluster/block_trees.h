/*
 * The best trees of a node's blocks (plan/ir/cluster.h) as a linear program
 * over trees that are made when needed:
 *
 *	maximise x subject to
 *	   sum of load * (home trees + away trees) <= capacity, link by link
 *	   home trees of each rank             >= x
 *	   away trees of all blocks together   >= ranks * x
 *
 * By the symmetry of nodes each link of node 0 carries, of all nodes' blocks,
 * what its own blocks load at home and what one node's blocks load in all
 * other places (away trees load nodes - 1 times), so one node's links are
 * enough.  Uplinks of switches have rows of their own: a block enters each
 * switch once.
 *
 * Under prices of links the best trees are cheapest arborescences: at home
 * from the rank, away from the network.
 */
#ifndef GT_SEARCH_CLUSTER_BLOCK_TREES_H
#define GT_SEARCH_CLUSTER_BLOCK_TREES_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"
#include "search/cluster/block_tree.h"
#include "search/cluster/quotient_rows.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

struct gt_block_trees {
	struct gt_quotient_rows rows;
	uint32_t ntrees, size;
	struct gt_block_tree *trees;
	int64_t denominator;
	uint32_t nrounds;
};

/*
 * The trees with their optimal weights; trees of weight 0 are left in.  Memory
 * is the arena's.  GT_ENO when some rank cannot be reached.
 */
int gt_block_trees_solve(const struct gt_quotient *q, enum gt_coll coll,
			 struct gt_arena *arena, struct gt_block_trees *trees,
			 struct gt_err *err);

/*
 * Add a copy of the tree behind the others and set its number among them.  The
 * list grows in the arena.  GT_ESYS when memory runs out.
 */
int gt_block_trees_add(struct gt_block_trees *trees,
		       const struct gt_block_tree *tree, struct gt_arena *arena,
		       uint32_t *number);

/*
 * The rate (x) at which the weights move every rank's block; 0 when that needs
 * more than 64 bits.
 */
int gt_block_trees_rate(const struct gt_quotient *q,
			const struct gt_block_trees *trees, struct gt_rat *x);

/*
 * The rate that the trees would reach if only this row limited them.  The
 * result is 1, 0 when nothing loads the row, or -1 when that needs more than
 * 64 bits.
 */
int gt_block_trees_row_rate(const struct gt_quotient *q,
			    const struct gt_block_trees *trees, uint32_t row,
			    struct gt_rat *x);

#endif
