/* The pool's arrays, and which rings are the same to a linear program. */
#include "search/ring/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "search/problem/link_rows.h"

void gt_ring_pool_init(struct gt_ring_pool *pool,
		       const struct gt_link_rows *rows)
{
	memset(pool, 0, sizeof(*pool));
	pool->rows = rows;
}

void gt_ring_pool_release(struct gt_ring_pool *pool)
{
	free(pool->orders);
	free(pool->loads);
}

const uint32_t *gt_ring_pool_order(const struct gt_ring_pool *pool,
				   uint32_t ring)
{
	return pool->orders + (size_t)ring * pool->rows->n;
}

const uint32_t *gt_ring_pool_loads(const struct gt_ring_pool *pool,
				   uint32_t ring)
{
	return pool->loads + (size_t)ring * pool->rows->nrows;
}

/* Both arrays grow alike, so they share their size. */
static int gt_ring_pool_grow(struct gt_ring_pool *pool)
{
	size_t order_bytes = pool->rows->n * sizeof(*pool->orders);
	size_t loads_bytes = (pool->rows->nrows + 1) * sizeof(*pool->loads);
	uint32_t room = pool->size;
	void *grown =
		gt_vec_grow(pool->orders, pool->nrings, &room, order_bytes);

	if (!grown)
		return GT_ESYS;
	pool->orders = grown;
	room = pool->size;
	grown = gt_vec_grow(pool->loads, pool->nrings, &room, loads_bytes);
	if (!grown)
		return GT_ESYS;
	pool->loads = grown;
	pool->size = room;
	return GT_OK;
}

static int gt_ring_joined(const struct gt_link_rows *rows,
			  const uint32_t *order)
{
	uint32_t n = rows->n;
	size_t legs[2];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t nlegs =
			gt_ring_legs(rows, order[i], order[(i + 1) % n], legs);

		while (nlegs--)
			if (!rows->joined[legs[nlegs]])
				return 0;
	}
	return 1;
}

int gt_ring_pool_add(struct gt_ring_pool *pool, const uint32_t *order)
{
	const struct gt_link_rows *rows = pool->rows;
	uint32_t *loads;

	if (!gt_ring_joined(rows, order))
		return 0;
	if (gt_ring_pool_grow(pool))
		return GT_ESYS;
	loads = pool->loads + (size_t)pool->nrings * rows->nrows;
	gt_ring_loads(rows, order, loads);
	for (uint32_t i = 0; i < pool->nrings; i++)
		if (!memcmp(loads, gt_ring_pool_loads(pool, i),
			    rows->nrows * sizeof(*loads)))
			return 0;
	memcpy(pool->orders + (size_t)pool->nrings * rows->n, order,
	       rows->n * sizeof(*order));
	pool->nrings++;
	return 1;
}
