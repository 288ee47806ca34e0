/*
 * Rings that count a whole number of times: a dive first, and for few ranks all
 * combinations after that.
 */
#include "search/ring/channels.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/diving.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"
#include "search/ring/master.h"
#include "search/ring/pool.h"

/* A float this close to a whole number is one. */
#define GT_INTEGRAL_EPS 1e-6

/*
 * Whole rings by trying all: where diving found none, this finds some or shows
 * that there are none.  For few ranks.
 *
 * Rings are enumerated hop by hop as long as they fit; then combinations of
 * them, as long as what is left of the capacities is worth the rings still
 * wanted, under prices for which no ring costs less than `cheapest`.
 */
struct gt_ring_enumerate {
	const int64_t *prices; /* row -> price */
	int64_t cheapest;
	uint32_t count; /* of rings wanted */
};

enum { GT_RING_ENUMERATE_MAX = 8 /* ranks */ };

/* Rings that are looked at, and how often one is asked whether it fits. */
enum { GT_ALL_RINGS = 5040, GT_ALL_STEPS = 1 << 22 };

struct gt_all {
	const struct gt_ring_enumerate *ask;
	struct gt_ring_pool *pool;
	const struct gt_link_rows *rows;
	int64_t *left;   /* row -> loads that still fit */
	__int128 worth;  /* of all that is left */
	uint32_t *order; /* a ring as far as it goes */
	uint32_t used;   /* ranks in it */
	__int128 *cost;  /* of the pool's rings */
	uint32_t *chosen;
	uint32_t steps;
};

/* The whole loads that a row has room for. */
static int64_t gt_all_capacity(const struct gt_link_rows *rows, uint32_t row)
{
	return gt_rat_floor_mul(rows->rows[row].gbs, rows->unit);
}

/* Give back (1) or take (-1) what a hop loads; does all still fit? */
static int gt_all_hop(struct gt_all *a, uint32_t from, uint32_t to, int sign)
{
	int fits = 1;

	for (uint32_t r = 0; r < a->rows->nrows; r++) {
		a->left[r] += sign * (int64_t)a->rows->rows[r]
					     .load[from * a->rows->stride + to];
		fits &= a->left[r] >= 0;
	}
	return fits;
}

/* Add all rings that begin as order[0..at) and fit. */
static int gt_all_extend(struct gt_all *a, uint32_t at)
{
	uint32_t n = a->rows->n, from = a->order[at - 1];
	int rc = GT_OK;

	for (uint32_t to = at < n ? 1 : 0; !rc && to < (at < n ? n : 1); to++) {
		if ((at < n && a->used >> to & 1) ||
		    !a->rows->joined[from * a->rows->stride + to])
			continue;
		a->order[at % n] = to;
		a->used |= 1u << to;
		if (!gt_all_hop(a, from, to, -1))
			rc = GT_OK;
		else if (at < n)
			rc = gt_all_extend(a, at + 1);
		else if (gt_ring_pool_add(a->pool, a->order) < 0)
			rc = GT_ESYS;
		else if (a->pool->nrings > GT_ALL_RINGS)
			rc = GT_EINPUT;
		gt_all_hop(a, from, to, 1);
		if (to)
			a->used &= ~(1u << to);
	}
	return rc;
}

/* Take a ring out of what is left, or (-1) put it back. */
static void gt_all_take(struct gt_all *a, uint32_t ring, int sign)
{
	const uint32_t *loads = gt_ring_pool_loads(a->pool, ring);

	for (uint32_t r = 0; r < a->rows->nrows; r++)
		a->left[r] -= sign * (int64_t)loads[r];
	a->worth -= sign * a->cost[ring];
}

/* Does it fit, and leave enough worth for `more` others? */
static int gt_all_fits(const struct gt_all *a, uint32_t ring, uint32_t more)
{
	const uint32_t *loads = gt_ring_pool_loads(a->pool, ring);

	if (a->worth - a->cost[ring] < (__int128)more * a->ask->cheapest)
		return 0;
	for (uint32_t r = 0; r < a->rows->nrows; r++)
		if (a->left[r] < loads[r])
			return 0;
	return 1;
}

/*
 * Copy the rings of from[0..n) that may still be chosen to to[]; returns how
 * many.
 */
static uint32_t gt_all_filter(struct gt_all *a, const uint32_t *from,
			      uint32_t n, uint32_t more, uint32_t *to)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (gt_all_fits(a, from[i], more))
			to[kept++] = from[i];
	a->steps += n;
	return kept;
}

/*
 * Some rows must not be left as they are, because what is left over would be
 * worth too much.  This is the one of them that the fewest rings load, or nrows
 * when there is none.
 */
static uint32_t gt_all_row(struct gt_all *a, const uint32_t *live, uint32_t n,
			   uint32_t more)
{
	__int128 slack = a->worth - (__int128)more * a->ask->cheapest;
	uint32_t best = a->rows->nrows, least = UINT32_MAX, count;

	for (uint32_t r = 0; r < a->rows->nrows; r++) {
		if ((__int128)a->ask->prices[r] * a->left[r] <= slack)
			continue;
		count = 0;
		for (uint32_t i = 0; i < n; i++)
			count += gt_ring_pool_loads(a->pool, live[i])[r] > 0;
		if (count < least) {
			least = count;
			best = r;
		}
	}
	return best;
}

/*
 * chosen[at..] from live[0..n), which is followed by room for as many again
 * for each that is still to be chosen.
 */
static int gt_all_choose(struct gt_all *a, uint32_t at, uint32_t *live,
			 uint32_t n)
{
	uint32_t more = a->ask->count - at, row, kept;
	int rc = GT_ENO;

	if (!more)
		return GT_OK;
	if (a->steps > GT_ALL_STEPS)
		return GT_EINPUT;
	row = gt_all_row(a, live, n, more);
	for (uint32_t i = 0; rc == GT_ENO && i < n;) {
		uint32_t ring = live[i];

		if (row < a->rows->nrows &&
		    !gt_ring_pool_loads(a->pool, ring)[row]) {
			i++;
			continue;
		}
		a->chosen[at] = ring;
		gt_all_take(a, ring, 1);
		kept = gt_all_filter(a, live, n, more - 1, live + n);
		rc = gt_all_choose(a, at + 1, live + n, kept);
		gt_all_take(a, ring, -1);
		/* all that has it was tried */
		live[i] = live[--n];
	}
	return rc;
}

static int gt_all_costs(struct gt_all *a)
{
	a->cost = calloc(a->pool->nrings + 1, sizeof(*a->cost));
	if (!a->cost)
		return GT_ESYS;
	for (uint32_t r = 0; r < a->rows->nrows; r++) {
		a->worth += (__int128)a->ask->prices[r] * a->left[r];
		for (uint32_t i = 0; i < a->pool->nrings; i++)
			a->cost[i] += (__int128)a->ask->prices[r] *
				      gt_ring_pool_loads(a->pool, i)[r];
	}
	return GT_OK;
}

static int gt_all_run(struct gt_all *a)
{
	size_t all = a->pool->nrings, n = 0;
	uint32_t *live = calloc((a->ask->count + 1) * (all + 1), sizeof(*live));
	int rc;

	if (!live)
		return GT_ESYS;
	for (uint32_t i = 0; i < all; i++)
		if (gt_all_fits(a, i, a->ask->count - 1))
			live[n++] = i;
	rc = gt_all_choose(a, 0, live, (uint32_t)n);
	free(live);
	return rc;
}

/*
 * Capacities of the rows are whole loads.  Fills the empty pool with the
 * rings that fit, and chosen[0..count) with some of them that fit together.
 * GT_ENO: there are none; GT_EINPUT: too many to try; GT_ESYS.
 */
static int gt_ring_enumerate(const struct gt_ring_enumerate *ask,
			     struct gt_ring_pool *pool, uint32_t *chosen)
{
	struct gt_all a = {.ask = ask,
			   .pool = pool,
			   .rows = pool->rows,
			   .used = 1,
			   .chosen = chosen};
	int rc = GT_ESYS;

	if (a.rows->n > GT_RING_ENUMERATE_MAX)
		return GT_EINPUT;
	a.left = calloc(a.rows->nrows + 1, sizeof(*a.left));
	a.order = calloc(a.rows->n, sizeof(*a.order));
	for (uint32_t r = 0; a.left && r < a.rows->nrows; r++)
		a.left[r] = gt_all_capacity(a.rows, r);
	if (a.left && a.order)
		rc = gt_all_extend(&a, 1);
	if (!rc)
		rc = gt_all_costs(&a);
	if (!rc)
		rc = gt_all_run(&a);
	free(a.left);
	free(a.order);
	free(a.cost);
	return rc;
}

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
