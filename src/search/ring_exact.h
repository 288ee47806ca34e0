/*
 * A basis of the ring packing solved exactly: shares and prices in rationals
 * of any size (GMP, fraction-free elimination after Bareiss, "Sylvester's
 * identity and multistep integer-preserving Gaussian elimination", 1968),
 * brought into 64 bits at the end.
 *
 * Whatever the basis, what comes out is right: shares are made to fit the
 * capacities (rounded down where 64 bits do not hold them), prices are never
 * negative (rounded up).  Only how close the two are depends on the basis.
 */
#ifndef GT_SEARCH_RING_EXACT_H
#define GT_SEARCH_RING_EXACT_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_ring_pool;

/* Which rings are basic and which rows bind. */
struct gt_ring_basis {
	unsigned char *rings;
	unsigned char *rows;
};

struct gt_ring_exact {
	struct gt_rat *shares; /* ring of the pool -> GB/s */
	struct gt_rat value;   /* their sum */
	int64_t *prices;       /* row -> numerator, over price_den */
	int64_t price_den;
};

/*
 * Fill the arrays of *exact (the caller's: one entry a ring, one a row).
 * GT_ENO when the basis is singular; GT_ESYS when memory ran out.
 */
int gt_ring_exact_solve(const struct gt_ring_pool *pool,
			const struct gt_ring_basis *basis,
			struct gt_ring_exact *exact, struct gt_err *err);

#endif
