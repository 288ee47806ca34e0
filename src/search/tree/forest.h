/*
 * The tree packing's linear program and what it is made of: the hops and the
 * trees known so far, the roots that each want the same rate, and scratch for
 * those that look for more trees.
 */
#ifndef GT_SEARCH_TREE_FOREST_H
#define GT_SEARCH_TREE_FOREST_H

#include <stdint.h>

#include "base/rat.h"
#include "search/tree/hop_costs.h"
#include "search/tree/pool.h"

struct gt_err;
struct gt_lp;
struct gt_shape_args;

struct gt_forest {
	const struct gt_shape_args *args;
	struct gt_tree_hops hops;
	struct gt_tree_pool trees;
	uint32_t nroots;  /* rows of the program behind those of links */
	uint32_t nstarts; /* ranks that trees may hang from */
	uint32_t *starts;
	uint32_t *place;      /* rank -> its row among the roots' */
	struct gt_lp *lp;     /* column 0 is x, tree i is column i + 1 */
	struct gt_rat target; /* what the roots can have together; 0: unknown */
	double unit_gbs;      /* the unit of the program's rates */
	uint32_t nrounds;
	/* Scratch. */
	double *load;     /* row -> load */
	int64_t *prices;  /* row -> price */
	int64_t *weights; /* parent * n + child -> cost */
	int64_t *mixed;   /* the same, no more than 64 of them may cost */
	uint32_t *parent;
	int64_t *far;     /* rank -> how far from a root */
	int32_t *entries; /* of a column */
};

/*
 * At least two ranks.  Both ways a tree may as well hang from any other rank:
 * one root then stands for all.  Release also after failure.
 */
int gt_forest_init(struct gt_forest *forest, const struct gt_shape_args *args,
		   struct gt_err *err);
void gt_forest_release(struct gt_forest *forest);

/* Which root the tree counts for: 0 .. nroots-1. */
uint32_t gt_forest_root(const struct gt_forest *forest, uint32_t tree);

/*
 * The most that all trees together may load the row with, in the unit of their
 * loads.
 */
double gt_forest_capacity(const struct gt_forest *forest, uint32_t row);

/*
 * Compute `weights` and `mixed` from the forest's prices.  GT_ESYS: memory ran
 * out.
 */
int gt_forest_weigh(struct gt_forest *forest);

/*
 * The cost of all blocks of the root over shortest paths, whose tree is left in
 * `parent`.
 */
int64_t gt_forest_shortest(struct gt_forest *forest, uint32_t root);

#endif
