/*
 * The exact solution of a tree packing's program (search/basis.h) in 64 bits:
 * shares, rounded down where these do not hold them, made equal for all roots,
 * and prices, rounded up.
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
