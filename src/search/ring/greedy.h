/*
 * A ring packing by greed: again and again a ring with much room on its links,
 * which then takes all of it.  Where this comes to an optimal packing, as it
 * does on many machines, that one has few rings.
 *
 * Guided by the prices of an optimal solution only rings that cost exactly 1
 * are taken: all others would waste capacity.
 */
#ifndef GT_SEARCH_RING_GREEDY_H
#define GT_SEARCH_RING_GREEDY_H

#include <stdint.h>

struct gt_pricer;
struct gt_ring_exact;
struct gt_ring_pool;

struct gt_greedy_args {
	struct gt_pricer *pricer;
	const struct gt_ring_exact *guide; /* its prices; NULL: none yet */
	uint32_t variant;                  /* 0, 1, ...: another taste */
	uint32_t max;                      /* rings */
};

/*
 * Add such rings to the pool, largest first.  *total is what they carry
 * together.  GT_ESYS when memory ran out.
 */
int gt_ring_greedy(struct gt_ring_pool *pool, const struct gt_greedy_args *args,
		   double *total);

#endif
