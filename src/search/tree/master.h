/*
 * The tree packing solved by column generation.  Every root is to send (or
 * receive) at one rate x, over trees with shares:
 *
 *	maximise x  subject to  x <= sum of the shares of a root's trees,
 *	                        loads <= capacities
 *
 * A linear program over the trees known so far gives prices, the cheapest
 * trees under them join, until there are none that would help (Dantzig and
 * Wolfe 1960) or x is what a cut allows: Edmonds' theorem on disjoint
 * branchings says that it gets there when switches are balanced.  Floats only
 * lead the way, search/tree/exact.h makes the result.
 *
 * What only moves (gt_coll_only_moves()) is the same with a block for each rank: a
 * tree's hop carries those of all that hang from it, and the cheapest trees are
 * the shortest ways.  That is the maximum concurrent flow, with a column for
 * all that one rank sends.
 */
#ifndef GT_SEARCH_TREE_MASTER_H
#define GT_SEARCH_TREE_MASTER_H

#include <stdint.h>

#include "search/tree/hop_costs.h"
#include "search/tree/exact.h"
#include "search/tree/pool.h"

struct gt_err;
struct gt_lp;
struct gt_proposal;
struct gt_proposal_channel;
struct gt_shape_args;

/* Larger bases take too long to be solved exactly again and again. */
enum { GT_FOREST_BASIS = 128 };

struct gt_forest {
	const struct gt_shape_args *args;
	struct gt_tree_hops arcs;
	struct gt_tree_pool trees;
	uint32_t nroots;  /* rows of the program behind those of links */
	uint32_t nstarts; /* ranks that trees may hang from */
	uint32_t *starts;
	uint32_t *place;      /* rank -> its row among the roots' */
	struct gt_lp *lp;     /* column 0 is x, tree i is column i + 1 */
	struct gt_rat target; /* what the roots can have together; 0: unknown */
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

/* GT_ENO when some rank cannot be reached. */
int gt_forest_solve(struct gt_forest *forest, struct gt_forest_shares *shares,
		    struct gt_err *err);

/*
 * Prices of the last solution and the bound they prove into the proposal,
 * made coarser (never too low) until all numbers fit 64 bits: the cheapest
 * trees of all roots cost 1 on average.  GT_ENO when they prove nothing.
 */
int gt_forest_prove(struct gt_forest *forest, struct gt_proposal *proposal,
		    struct gt_err *err);

/*
 * Add trees until the roots have the target, or none would help as far as
 * floats can tell: GT_ENO.
 */
int gt_forest_reach(struct gt_forest *forest, uint32_t rounds,
		    struct gt_err *err);

/* Which root the tree counts for: 0 .. nroots-1. */
uint32_t gt_forest_root(const struct gt_forest *forest, uint32_t tree);

/* Add short trees that a packing like the last one may use as well. */
int gt_forest_add_short(struct gt_forest *forest, struct gt_err *err);

/* What all blocks of the root cost by the shortest ways; fills parent. */
int64_t gt_forest_shortest(struct gt_forest *forest, uint32_t root);

/* weights and mixed under forest->prices. */
int gt_forest_weigh(struct gt_forest *forest);

/* So many trees of 1 GB/s each a root, likewise: the shape's whole(). */
int gt_forest_integral(const struct gt_shape_args *args, uint32_t count,
		       int *none, struct gt_proposal *proposal,
		       struct gt_err *err);

/* A tree of the pool as a channel.  GT_ESYS: memory ran out. */
int gt_forest_channel(const struct gt_forest *forest, uint32_t tree,
		      struct gt_proposal_channel *channel);

/* The first trees.  GT_ENO when some rank cannot be reached. */
int gt_forest_seed(struct gt_forest *forest, struct gt_err *err);

#endif
