/*
 * Few channels: an optimal packing often has many rings where fewer would do
 * as well.  Tries greedy packings guided by the optimal prices, in several
 * variants, and keeps the one with the fewest rings that carries as much; or,
 * when the number is limited, the most.
 */
#ifndef GT_SEARCH_RING_REDUCE_CHANNELS_H
#define GT_SEARCH_RING_REDUCE_CHANNELS_H

#include <stdint.h>

struct gt_pricer;
struct gt_ring_exact;
struct gt_ring_pool;
struct gt_budget;

/*
 * Look for fewer rings than the `nused` of the optimal solution *exact, at
 * most `max` (0: no limit), and put them into the empty pool `few`, which
 * stays empty when there are none.  GT_ESYS when memory ran out.
 */
struct gt_reduce_args {
	const struct gt_budget *budget; /* or NULL */
	struct gt_pricer *pricer;
	const struct gt_ring_pool *pool; /* that *exact is over */
	const struct gt_ring_exact *exact;
	uint32_t nused, max;
};
int gt_ring_reduce_channels(const struct gt_reduce_args *args,
			    struct gt_ring_pool *few);

#endif
