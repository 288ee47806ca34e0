/*
 * The restricted master of the ring packing: the best shares of the rings in
 * a pool, in floating point.  Used to find prices for the next ring and, at
 * the end, a basis for search/ring_exact.h; nothing else trusts its numbers.
 *
 * COIN-OR CLP, primal simplex from the last basis, without perturbation, so
 * that the same input takes the same pivots.
 */
#ifndef GT_SEARCH_RING_LP_H
#define GT_SEARCH_RING_LP_H

#include <stdint.h>

struct gt_ring_pool;
struct gt_ring_rows;
struct gt_ring_lp;

/* A problem without rings; NULL when memory ran out. */
struct gt_ring_lp *gt_ring_lp_new(const struct gt_ring_rows *rows);
void gt_ring_lp_free(struct gt_ring_lp *lp);

/*
 * Add the rings of the pool that are new since the last call, and solve.
 * prices[row] (never negative; NULL: not wanted).  GT_ESYS: CLP gave up.
 */
int gt_ring_lp_solve(struct gt_ring_lp *lp, const struct gt_ring_pool *pool,
		     double *prices);

/*
 * After solving: of all solutions in which the rows with a flag bind, one
 * where the sum of costs[ring] * share is least, into shares[ring].  GT_ESYS
 * when CLP gave up.  No other solving makes sense afterwards.
 */
int gt_ring_lp_bind(struct gt_ring_lp *lp, const unsigned char *rows);
int gt_ring_lp_least(struct gt_ring_lp *lp, const double *costs,
		     double *shares);

/* Which rings are basic and which rows bind (1 or 0 each), after solving. */
void gt_ring_lp_basis(const struct gt_ring_lp *lp, unsigned char *rings,
		      unsigned char *rows);

#endif
