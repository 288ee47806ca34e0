/*
 * The exact solution of a ring packing's program: shares and prices
 * (search/lp/exact_basis.h) in 64 bits, shares rounded down and prices up where these
 * do not hold them.
 */
#ifndef GT_SEARCH_RING_EXACT_H
#define GT_SEARCH_RING_EXACT_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_lp;
struct gt_ring_pool;

struct gt_ring_exact {
	struct gt_rat *shares; /* ring of the pool -> GB/s */
	struct gt_rat value;   /* their sum */
	int64_t *prices;       /* row -> numerator, over price_den */
	int64_t price_den;
};

/*
 * Of the basis that `lp` ended with, whose columns are the pool's first rings.
 * Fills the arrays of *exact (the caller's: one entry a ring, one a row).
 * GT_ENO when the basis is singular; GT_ESYS when memory ran out.
 */
int gt_ring_exact_solve(const struct gt_ring_pool *pool, const struct gt_lp *lp,
			struct gt_ring_exact *exact, struct gt_err *err);

#endif
