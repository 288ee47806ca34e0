/*
 * The linear program of a ring packing: the best shares of the rings of a pool,
 * a column for each ring.  It is solved in floating point (search/lp/lp.h), and
 * the basis that it ended with exactly (search/lp/exact_basis.h): shares and
 * prices in 64 bits, shares rounded down and prices up where these do not hold
 * them.
 */
#ifndef GT_SEARCH_RING_PROGRAM_H
#define GT_SEARCH_RING_PROGRAM_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_lp;
struct gt_link_rows;
struct gt_ring_pool;

/* A problem without rings; NULL when memory ran out. */
struct gt_lp *gt_ring_lp_new(const struct gt_link_rows *rows);

/* Add the rings of the pool that the program does not have yet. */
void gt_ring_lp_add(struct gt_lp *lp, const struct gt_ring_pool *pool);

/*
 * Add them and solve.
 * GT_ENO: the columns' ranges leave no solution; GT_ESYS: CLP gave up.
 */
int gt_ring_lp_solve(struct gt_lp *lp, const struct gt_ring_pool *pool);

struct gt_ring_exact {
	struct gt_rat *shares; /* ring of the pool -> GB/s */
	uint32_t nshares;
	struct gt_rat value; /* their sum */
	int64_t *prices;     /* row -> numerator, over price_den */
	int64_t price_den;
};

/*
 * Solve the basis that `lp` ended with, whose columns are the pool's first
 * rings. Fills the arrays of *exact (the caller's: one entry a ring, one a
 * row). GT_ENO when the basis is singular; GT_ESYS when memory ran out.
 */
int gt_ring_exact_solve(const struct gt_ring_pool *pool, const struct gt_lp *lp,
			struct gt_ring_exact *exact, struct gt_err *err);

#endif
