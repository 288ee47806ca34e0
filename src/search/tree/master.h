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
 * A collective that only moves bytes (gt_coll_only_moves()) is solved with a
 * block for each rank: a tree's hop carries those of all that hang from it, and
 * the cheapest trees are the shortest ways.  That is the maximum concurrent
 * flow, with a column for all that one rank sends.
 */
#ifndef GT_SEARCH_TREE_MASTER_H
#define GT_SEARCH_TREE_MASTER_H

#include <stdint.h>

#include "search/tree/forest.h"

struct gt_err;
struct gt_forest_shares;

/* Bases larger than this take too long to be solved exactly again and again. */
enum { GT_FOREST_BASIS = 128 };

/* GT_ENO when some rank cannot be reached. */
int gt_forest_solve(struct gt_forest *forest, struct gt_forest_shares *shares,
		    struct gt_err *err);

/*
 * Add trees until the roots have the target, or none would help as far as
 * floats can tell: GT_ENO.
 */
int gt_forest_reach(struct gt_forest *forest, uint32_t rounds,
		    struct gt_err *err);

/*
 * Add short trees that a packing may use in place of those it has, and solve.
 */
int gt_forest_add_short(struct gt_forest *forest, struct gt_err *err);

/* Add the first trees.  GT_ENO when some rank cannot be reached. */
int gt_forest_seed(struct gt_forest *forest, struct gt_err *err);

#endif
