/*
 * A basis of the tree packing solved exactly: shares and prices in rationals
 * of any size (GMP, search/bareiss.h), brought into 64 bits at the end.
 *
 * Whatever the basis, what comes out is right: shares are made to fit the
 * capacities and to be equal for all roots (rounded down where 64 bits do not
 * hold them), prices are never negative.  Only how close the two are depends
 * on the basis.
 */
#ifndef GT_SEARCH_FOREST_EXACT_H
#define GT_SEARCH_FOREST_EXACT_H

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
 * The shares of the basis that `lp` ended with; `fixed`, if not NULL, is the
 * value that it was told to have.  Memory is the forest's arena's.  GT_ENO
 * when the basis is singular or, with `fixed`, does not give that value.
 */
int gt_forest_shares(const struct gt_forest *forest, const struct gt_lp *lp,
		     const struct gt_rat *fixed,
		     struct gt_forest_shares *shares, struct gt_err *err);

/* The prices of that basis, in whole numbers with a common denominator. */
int gt_forest_prices(const struct gt_forest *forest, const struct gt_lp *lp,
		     int64_t *prices, struct gt_err *err);

#endif
