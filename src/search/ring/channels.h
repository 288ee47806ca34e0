/*
 * From the best shares of rings to channels that a plan likes better: fewer
 * rings, and rings that each count a whole number of times.
 */
#ifndef GT_SEARCH_RING_CHANNELS_H
#define GT_SEARCH_RING_CHANNELS_H

#include <stdint.h>

struct gt_budget;
struct gt_err;
struct gt_pricer;
struct gt_proposal;
struct gt_ring_exact;
struct gt_ring_pool;
struct gt_ring_search;
struct gt_shape_args;

/*
 * reduce_channels.c: few channels.  An optimal packing often has many rings
 * where fewer would do as well.  Tries greedy packings guided by the optimal
 * prices, in several variants, and keeps the one with the fewest rings that
 * carries as much; or, when the number is limited, the most.
 *
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

/*
 * exchange.c: a few rings made better.  One of them at a time gives its place
 * to another, known or priced for it, as long as the best shares of them all
 * come to more (local search).  For a limited number of channels.
 *
 * Change the rings of `few`, up to `max` of them.  New rings join the pool of
 * `s`.  GT_ESYS: memory ran out.
 */
int gt_ring_exchange(struct gt_ring_search *s, struct gt_ring_pool *few,
		     unsigned int max);

/*
 * integral.c: rings that each count a whole number of times, by diving
 * (search/lp/diving.h) and for few ranks trying all.
 *
 * So many rings of 1 GB/s each, where capacities are whole multiples of loads:
 * the shape's whole().
 */
int gt_ring_integral(const struct gt_shape_args *args, uint32_t count,
		     int *none, struct gt_proposal *proposal,
		     struct gt_err *err);

#endif
