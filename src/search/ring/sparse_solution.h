/*
 * A sparse optimal packing: of all ways to reach the optimum with the rings
 * of two pools, one that uses few.  The optimal solutions are known by
 * complementary slackness: all rows with a price are full, and only rings that
 * cost exactly 1 are used.  They are a polytope, on which rings are fixed one
 * after the other, each at the most that it can carry: what remains is a
 * smaller polytope of the same kind, so every such walk ends in an optimal
 * packing, and as each ring fills some row, in one of few rings.
 *
 * Walks differ by chance.  Every other one begins at a vertex that is sparse
 * already, by reweighting: rings that carry little are made dear, again and
 * again (Candes, Wakin and Boyd, "Enhancing sparsity by reweighted l1
 * minimization", 2008).  In floating point; the result is a choice of rings,
 * whose shares are then found exactly.
 */
#ifndef GT_SEARCH_RING_SPARSE_SOLUTION_H
#define GT_SEARCH_RING_SPARSE_SOLUTION_H

#include <stdint.h>

struct gt_ring_exact;
struct gt_ring_pool;

struct gt_sparse_args {
	const struct gt_ring_pool *pool;   /* that *exact is over */
	const struct gt_ring_exact *exact; /* an optimal solution */
	const struct gt_ring_pool *seen;   /* further rings */
	uint32_t most;                     /* rings to be had */
};

/*
 * Put rings into the empty pool `few`, as few as can be found.  It stays empty
 * when more than `most` are needed or floats were not good enough.  GT_ESYS
 * when memory ran out.
 */
int gt_ring_sparse_solution(const struct gt_sparse_args *args,
			    struct gt_ring_pool *few);

#endif
