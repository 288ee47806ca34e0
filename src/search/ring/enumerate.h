/*
 * Whole rings by trying all: where diving (search/ring/integral.c) found none,
 * this finds some or shows that there are none.  For few ranks.
 *
 * Rings are enumerated hop by hop as long as they fit; then combinations of
 * them, as long as what is left of the capacities is worth the rings still
 * wanted, under prices for which no ring costs less than `cheapest`.
 */
#ifndef GT_SEARCH_RING_ENUMERATE_H
#define GT_SEARCH_RING_ENUMERATE_H

#include <stdint.h>

struct gt_ring_pool;

struct gt_ring_enumerate {
	const int64_t *prices; /* row -> price */
	int64_t cheapest;
	uint32_t count; /* of rings wanted */
};

enum { GT_RING_ENUMERATE_MAX = 8 /* ranks */ };

/*
 * Capacities of the rows are whole loads.  Fills the empty pool with the
 * rings that fit, and chosen[0..count) with some of them that fit together.
 * GT_ENO: there are none; GT_EINPUT: too many to try; GT_ESYS.
 */
int gt_ring_enumerate(const struct gt_ring_enumerate *all,
		      struct gt_ring_pool *pool, uint32_t *chosen);

#endif
