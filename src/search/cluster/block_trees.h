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
#include "search/cluster/quotient_rows.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

/* How a rank of another node gets a block from the network. */
struct gt_network_hop {
	uint32_t from;    /* local rank of the sending node */
	uint32_t out, in; /* ports */
};

struct gt_block_tree {
	uint32_t root;   /* local rank; the number of ranks: away */
	int32_t *parent; /* local rank -> parent, -1: root or network */
	struct gt_network_hop *net; /* away, of those */
	int32_t *loads;             /* row -> load */
	int64_t weight;             /* of all trees of the root: `whole` */
};

struct gt_block_trees {
	struct gt_quotient_rows rows;
	uint32_t ntrees, size;
	struct gt_block_tree *trees;
	int64_t denominator;
	uint32_t nrounds;
};

/*
 * The optimal weights; trees of weight 0 are left in.  GT_ENO when some rank
 * cannot be reached.  Memory is the arena's.
 */
int gt_block_trees_solve(const struct gt_quotient *q, enum gt_coll coll,
			 struct gt_arena *arena, struct gt_block_trees *trees,
			 struct gt_err *err);

/*
 * What the weights reach: every rank's block at this rate (x); 0 when that
 * needs more than 64 bits.
 */
int gt_block_trees_rate(const struct gt_quotient *q,
			const struct gt_block_trees *trees, struct gt_rat *x);

/*
 * What they would reach if only this row limited: 1, 0 when nothing loads it,
 * -1 when that needs more than 64 bits.
 */
int gt_block_trees_row_rate(const struct gt_quotient *q,
			    const struct gt_block_trees *trees, uint32_t row,
			    struct gt_rat *x);

/*
 * block_tree_loads.c: rows and loads; block_tree_pricing.c: cheap trees.
 * Where trees are also, or only, used from their leaves to the root, a link's
 * capacity is the smaller of both directions.
 */

void gt_block_tree_load(const struct gt_quotient *q,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree);
int gt_block_tree_cheapest(const struct gt_quotient *q,
			   const struct gt_quotient_rows *rows,
			   const double *prices, struct gt_arena *arena,
			   struct gt_block_tree *tree);

#endif
