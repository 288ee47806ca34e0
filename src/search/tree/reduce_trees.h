/*
 * A packing of few and short trees among all those of a given value.
 *
 * Optimal packings use only trees that cost what their root's rate is worth.
 * Some more of these are looked for, short ones; then linear programs over all
 * trees known, at that value, ask for little depth, and for few trees by
 * reweighting (Candes, Wakin and Boyd, "Enhancing sparsity by reweighted l1
 * minimization", 2008).
 */
#ifndef GT_SEARCH_TREE_REDUCE_TREES_H
#define GT_SEARCH_TREE_REDUCE_TREES_H

struct gt_err;
struct gt_forest;
struct gt_forest_shares;
struct gt_rat;

/*
 * Replace *shares by shares of that value when they are fewer and shorter, or
 * worth more.  The forest's program cannot be solved for more afterwards.
 * GT_ESYS: memory ran out.
 */
int gt_forest_reduce_trees(struct gt_forest *forest, struct gt_rat value,
			   struct gt_forest_shares *shares, struct gt_err *err);

#endif
