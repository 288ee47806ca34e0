/*
 * From the solved program of a forest to the shares of a plan: numbers that fit
 * 64 bits, few and short trees, and the certificate.
 */
#ifndef GT_SEARCH_TREE_SHARES_H
#define GT_SEARCH_TREE_SHARES_H

#include "base/rat.h"

struct gt_err;
struct gt_forest;
struct gt_forest_shares;
struct gt_proposal;

/*
 * round.c: exact shares where the basis of a forest's program has numbers
 * beyond 64 bits.  Whole units of trees are kept and what they leave of links
 * and roots is packed again: the largest rest is taken up to one more unit, and
 * the program solved again, with new trees where it needs some, as in
 * search/lp/diving.h.  Fewer and fewer trees have a rest, so that sooner or
 * later a basis often has numbers that fit; where none does shares stay as they
 * are.
 *
 * `value` is what the program reaches as far as floats can tell; shares come
 * to that afterwards, or are the same as before.  More trees may join.
 */
int gt_forest_round(struct gt_forest *forest, struct gt_rat value,
		    struct gt_forest_shares *shares, struct gt_err *err);

/*
 * reduce_trees.c: a packing of few and short trees among all those of a given
 * value.
 *
 * Optimal packings use only trees that cost what their root's rate is worth.
 * Some more of these are looked for, short ones; then linear programs over all
 * trees known, at that value, ask for little depth, and for few trees by
 * reweighting (Candes, Wakin and Boyd, "Enhancing sparsity by reweighted l1
 * minimization", 2008).
 *
 * Replace *shares by shares of that value when they are fewer and shorter, or
 * worth more.  The forest's program cannot be solved for more afterwards.
 * GT_ESYS: memory ran out.
 */
int gt_forest_reduce_trees(struct gt_forest *forest, struct gt_rat value,
			   struct gt_forest_shares *shares, struct gt_err *err);

/*
 * certificate.c: the certificate of a tree packing: prices of links, and the
 * bound on the roots' rate that they prove.
 *
 * Prices of the last solution and the bound they prove into the proposal,
 * made coarser (never too low) until all numbers fit 64 bits: the cheapest
 * trees of all roots cost 1 on average.  GT_ENO when they prove nothing.
 */
int gt_forest_prove(struct gt_forest *forest, struct gt_proposal *proposal,
		    struct gt_err *err);

#endif
