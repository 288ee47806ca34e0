/*
 * Rings found so far, each with what it loads every row with: the columns of
 * the packing problem.  Rings that load all rows alike count once.
 */
#ifndef GT_SEARCH_RING_POOL_H
#define GT_SEARCH_RING_POOL_H

#include <stdint.h>

struct gt_link_rows;

struct gt_ring_pool {
	const struct gt_link_rows *rows;
	uint32_t nrings, size;
	uint32_t *orders; /* [ring * n], as in search/problem/link_rows.h */
	uint32_t *loads;  /* [ring * nrows] */
};

void gt_ring_pool_init(struct gt_ring_pool *pool,
		       const struct gt_link_rows *rows);
void gt_ring_pool_release(struct gt_ring_pool *pool);

/*
 * Add the ring with this order.  1: added; 0: a hop has no
 * route, or an equal ring is there already; GT_ESYS: memory ran out.
 */
int gt_ring_pool_add(struct gt_ring_pool *pool, const uint32_t *order);

const uint32_t *gt_ring_pool_order(const struct gt_ring_pool *pool,
				   uint32_t ring);
const uint32_t *gt_ring_pool_loads(const struct gt_ring_pool *pool,
				   uint32_t ring);

#endif
