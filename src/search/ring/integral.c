/*
 * Rings that count a whole number of times: a dive first, and for few ranks all
 * combinations after that.
 */
#include "search/ring/channels.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/diving.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"
#include "search/ring/enumerate.h"
#include "search/ring/master.h"

/* A float this close to a whole number is one. */
#define GT_INTEGRAL_EPS 1e-6

static int gt_ring_integral_solve(void *arg, struct gt_err *err)
{
	struct gt_ring_search *s = arg;
	int rc = gt_ring_generate(s, err);

	if (rc)
		return rc;
	return gt_ring_value(s) >= s->enough ? GT_OK : GT_ENO;
}

static int gt_ring_integral_add(const struct gt_ring_pool *pool, uint32_t ring,
				int64_t times, struct gt_arena *arena,
				struct gt_proposal *proposal)
{
	uint32_t n = pool->rows->n;
	uint32_t *order = gt_arena_array(arena, n, sizeof(*order));

	if (!order)
		return GT_ESYS;
	memcpy(order, gt_ring_pool_order(pool, ring), n * sizeof(*order));
	while (times-- > 0)
		proposal->channels[proposal->nchannels++] =
			(struct gt_proposal_channel){.gbs = GT_RAT(1, 1),
						     .order = order};
	return GT_OK;
}

static int gt_ring_integral_dive(struct gt_ring_search *s, uint32_t count,
				 struct gt_proposal *proposal,
				 struct gt_err *err)
{
	struct gt_diving dive = {s->lp, 0, gt_ring_integral_solve, s};
	int rc;

	s->enough = count - GT_INTEGRAL_EPS;
	rc = gt_ring_seed(s, err);
	if (!rc)
		rc = gt_diving(&dive, err);
	for (uint32_t i = 0; !rc && i < s->pool.nrings; i++) {
		int64_t times = gt_diving_count(&dive, i);

		if (times > count - proposal->nchannels)
			times = count - proposal->nchannels;
		if (times)
			rc = gt_ring_integral_add(&s->pool, i, times,
						  s->args->arena, proposal);
	}
	if (!rc && proposal->nchannels < count)
		rc = GT_ENO;
	return rc;
}

/* Try all, where there are few; under the prices of the best packing. */
static int gt_ring_integral_enumerate(struct gt_ring_search *s, uint32_t count,
				      int *none, struct gt_proposal *proposal,
				      struct gt_err *err)
{
	struct gt_ring_exact result = {0};
	struct gt_ring_enumerate all = {.count = count};
	struct gt_arena *arena = s->args->arena;
	uint32_t *chosen = gt_arena_array(arena, count, sizeof(*chosen));
	struct gt_ring_pool pool;
	int rc;

	if (!chosen)
		return GT_ESYS;
	rc = gt_ring_solve(s, &result, err);
	if (rc && rc != GT_ENO)
		return rc;
	/* no rings, or no exact solution: then without prices */
	memset(s->prices, 0, s->rows->nrows * sizeof(*s->prices));
	all.prices = rc ? s->prices : result.prices;
	all.cheapest = rc ? 0 : gt_ring_min_cost(s, all.prices);
	if (all.cheapest < 0)
		return GT_ESYS;
	gt_ring_pool_init(&pool, s->rows);
	rc = gt_ring_enumerate(&all, &pool, chosen);
	*none = rc == GT_ENO;
	for (uint32_t i = 0; !rc && i < count; i++)
		rc = gt_ring_integral_add(&pool, chosen[i], 1, arena, proposal);
	gt_ring_pool_release(&pool);
	return rc == GT_EINPUT ? GT_ENO : rc;
}

int gt_ring_integral(const struct gt_shape_args *args, uint32_t count,
		     int *none, struct gt_proposal *proposal,
		     struct gt_err *err)
{
	int rc = GT_ENO;

	*none = 0;
	proposal->channels =
		gt_arena_array(args->arena, count, sizeof(*proposal->channels));
	if (!proposal->channels)
		return GT_ESYS;
	for (int all = 0; all < 2 && rc == GT_ENO; all++) {
		struct gt_ring_search s = {0};

		if (all && args->fabric->nranks > GT_RING_ENUMERATE_MAX)
			break;
		proposal->nchannels = 0;
		rc = gt_ring_search_init(&s, args, err);
		if (!rc)
			rc = all ? gt_ring_integral_enumerate(&s, count, none,
							      proposal, err)
				 : gt_ring_integral_dive(&s, count, proposal,
							 err);
		gt_ring_search_release(&s);
	}
	return rc;
}
