/*
 * The exact solution of a tree packing's program (search/lp/exact_basis.h) in
 * 64 bits: shares, rounded down where these do not hold them, made equal for
 * all roots, and prices, rounded up.
 */
#ifndef GT_SEARCH_TREE_EXACT_H
#define GT_SEARCH_TREE_EXACT_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_forest;
struct gt_lp;

/* Trees in use, their shares num / den (GB/s), all equal in sum a root. */
struct gt_forest_shares {
	uint32_t ntrees;
	uint32_t *trees;
	int64_t *nums;
	int64_t den;
	struct gt_rat value; /* their sum */
};

/*
 * The value that a program was told to reach, and the shares that trees have at
 * least.
 */
struct gt_forest_given {
	struct gt_rat value;
	const int64_t *units; /* tree -> its share in units; NULL: 0 each */
	struct gt_rat unit;
};

/*
 * The shares of the basis that `lp` ended with, in which `given` holds, if not
 * NULL, whatever the program's scale.  Memory is the forest's arena's.  GT_ENO
 * when the basis is singular or does not give the value.
 */
int gt_forest_shares(const struct gt_forest *forest, const struct gt_lp *lp,
		     const struct gt_forest_given *given,
		     struct gt_forest_shares *shares, struct gt_err *err);

/* The prices of that basis, in whole numbers with a common denominator. */
int gt_forest_prices(const struct gt_forest *forest, const struct gt_lp *lp,
		     int64_t *prices, struct gt_err *err);

#endif
