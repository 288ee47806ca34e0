/*
 * Exact shares where the basis of a forest's program has numbers beyond 64
 * bits.  Whole units of trees are kept and what they leave of links and roots
 * is packed again: the largest rest is taken up to one more unit, and the
 * program solved again, with new trees where it needs some, as in
 * search/lp/diving.h.  Fewer and fewer trees have a rest, so that sooner or
 * later a basis often has numbers that fit; where none does shares stay as they
 * are.
 */
#ifndef GT_SEARCH_TREE_ROUND_H
#define GT_SEARCH_TREE_ROUND_H

#include "base/rat.h"

struct gt_err;
struct gt_forest;
struct gt_forest_shares;

/*
 * `value` is what the program reaches as far as floats can tell; shares come
 * to that afterwards, or are the same as before.  More trees may join.
 */
int gt_forest_round(struct gt_forest *forest, struct gt_rat value,
		    struct gt_forest_shares *shares, struct gt_err *err);

#endif
