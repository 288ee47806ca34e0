/*
 * A sparse optimal packing: of all ways to reach the optimum with the rings
 * of a pool, one that uses few.  By reweighting: rings that carry little are
 * made dear, again and again (Candes, Wakin and Boyd, "Enhancing sparsity by
 * reweighted l1 minimization", 2008).  In floating point; the result is a
 * choice of rings, whose shares are then found exactly.
 *
 * The optimal solutions are known by complementary slackness: all rows with a
 * price bind, and only rings that cost exactly 1 are used.
 */
#ifndef GT_SEARCH_RING_SPARSE_H
#define GT_SEARCH_RING_SPARSE_H

struct gt_ring_exact;
struct gt_ring_pool;

/*
 * Put rings of `pool` into the empty pool `few`, as few as can be found;
 * `exact` is an optimal solution over all rings.  `few` stays empty when the
 * pool's rings do not reach it or floats were not good enough.  GT_ESYS when
 * memory ran out.
 */
int gt_ring_sparse(const struct gt_ring_pool *pool,
		   const struct gt_ring_exact *exact, struct gt_ring_pool *few);

#endif
