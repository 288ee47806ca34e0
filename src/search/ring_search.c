#include "search/ring_search.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/fabric.h"
#include "search/ring_greedy.h"
#include "search/ring_lp.h"
#include "search/ring_price.h"
#include "search/ring_rows.h"
#include "search/shape.h"
#include "search/watch.h"

/*
 * Rounds after which the best so far has to do, and up to how many ranks exact
 * pricing is as quick as any.
 */
enum { GT_RING_ROUNDS = 2000, GT_RING_SMALL = 10 };

/* Loads of hops on links that fit in memory. */
#define GT_RING_LOADS_MAX ((size_t)1 << 26)

/* One for floating-point prices; a ring cheaper by 1e-9 is worth adding. */
#define GT_RING_ONE   (INT64_C(1) << 40)
#define GT_RING_SLACK (INT64_C(1) << 10)

int gt_ring_search_init(struct gt_ring_search *s,
			const struct gt_shape_args *args, struct gt_err *err)
{
	uint32_t n = args->fabric->nranks;
	size_t nn = (size_t)n * n;
	int rc;

	if (nn * args->fabric->nlinks > GT_RING_LOADS_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u GPUs on %u links are too many for the "
				  "ring search; name fewer with --gpus",
				  n, args->fabric->nlinks);
	s->args = args;
	rc = gt_ring_rows_new(args->fabric, args->arena, &s->rows, err);
	if (rc)
		return rc;
	gt_ring_pool_init(&s->pool, s->rows);
	s->lp = gt_ring_lp_new(s->rows);
	s->pricer = gt_pricer_new(n, 0);
	s->quick = gt_pricer_new(n, n > GT_RING_SMALL);
	s->duals = gt_arena_array(args->arena, s->rows->nrows, sizeof(double));
	s->prices =
		gt_arena_array(args->arena, s->rows->nrows, sizeof(*s->prices));
	s->weights = gt_arena_array(args->arena, nn, sizeof(*s->weights));
	s->order = gt_arena_array(args->arena, n, sizeof(*s->order));
	if (!s->lp || !s->pricer || !s->quick || !s->duals || !s->prices ||
	    !s->weights || !s->order)
		return gt_err_nomem(err);
	return GT_OK;
}

void gt_ring_search_release(struct gt_ring_search *s)
{
	gt_ring_pool_release(&s->pool);
	gt_ring_lp_free(s->lp);
	gt_pricer_free(s->pricer);
	gt_pricer_free(s->quick);
}

/* Price rings; weights of missing hops are set apart. */
static void gt_ring_price(struct gt_ring_search *s, struct gt_pricer *pricer,
			  const int64_t *prices)
{
	size_t nn = (size_t)s->rows->n * s->rows->n;

	gt_ring_weights(s->rows, prices, s->weights);
	for (size_t i = 0; i < nn; i++)
		if (!s->rows->joined[i] || s->weights[i] > GT_PRICE_NONE)
			s->weights[i] = GT_PRICE_NONE;
	gt_pricer_run(pricer, s->weights);
}

/*
 * Add the offered rings that cost less than limit, each both ways round: what
 * is cheap one way often is soon the other way.  How many were new, or
 * GT_ESYS.
 */
static int gt_ring_collect(struct gt_ring_search *s,
			   const struct gt_pricer *pricer, int64_t limit)
{
	int added = 0, one;

	for (uint32_t i = 0; i < gt_pricer_nrings(pricer); i++) {
		if (gt_pricer_ring(pricer, i, s->order) >= limit)
			continue;
		for (int way = 0; way < 2; way++) {
			one = gt_ring_pool_add(&s->pool, s->order);
			if (one < 0)
				return one;
			added += one;
			gt_ring_order_reverse(s->order, s->rows->n);
		}
	}
	return added;
}

/*
 * First rings: that of the ranks in order, the one people expect where all
 * are alike, and a greedy packing.
 */
static int gt_ring_seed(struct gt_ring_search *s, struct gt_err *err)
{
	struct gt_greedy_args args = {s->quick, NULL, 1, 4 * s->rows->n};
	double total;

	for (uint32_t i = 0; i < s->rows->n; i++)
		s->order[i] = i;
	if (gt_ring_pool_add(&s->pool, s->order) < 0 ||
	    gt_ring_greedy(&s->pool, &args, &total))
		return gt_err_nomem(err);
	if (!s->pool.nrings)
		return gt_err_set(err, GT_ENO, NULL,
				  "no ring joins all %u GPUs: there are no "
				  "routes for one",
				  s->rows->n);
	return GT_OK;
}

/* What the linear program's prices say the known rings reach. */
static double gt_ring_value(const struct gt_ring_search *s)
{
	double value = 0;

	for (uint32_t r = 0; r < s->rows->nrows; r++)
		value += s->duals[r] * gt_rat_double(s->rows->rows[r].gbs) *
			 (double)s->rows->unit;
	return value;
}

static int gt_ring_goes_on(const struct gt_ring_search *s)
{
	return s->nrounds < GT_RING_ROUNDS && !gt_watch_over(s->args->watch);
}

/* Add rings until none is cheaper than 1 as far as floats can tell. */
static int gt_ring_generate(struct gt_ring_search *s, struct gt_err *err)
{
	const int64_t limit = GT_RING_ONE - GT_RING_SLACK;
	int added;

	do {
		if (gt_ring_lp_solve(s->lp, &s->pool, s->duals))
			return gt_err_set(err, GT_ESYS, NULL,
					  "the linear program of the ring "
					  "search was not solved");
		for (uint32_t i = 0; i < s->rows->nrows; i++)
			s->prices[i] =
				(int64_t)(s->duals[i] * (double)GT_RING_ONE);
		gt_ring_price(s, s->quick, s->prices);
		added = gt_ring_collect(s, s->quick, limit);
		if (!added) {
			gt_ring_price(s, s->pricer, s->prices);
			added = gt_ring_collect(s, s->pricer, limit);
		}
		s->nrounds++;
		gt_watch_tell(s->args->watch, "rings", s->nrounds,
			      gt_ring_value(s));
	} while (added > 0 && gt_ring_goes_on(s));
	return added < 0 ? gt_err_nomem(err) : GT_OK;
}

int gt_ring_result_init(const struct gt_ring_search *s,
			const struct gt_ring_pool *pool,
			struct gt_ring_result *result, struct gt_err *err)
{
	struct gt_arena *arena = s->args->arena;
	uint32_t nrows = s->rows->nrows, nrings = pool->nrings;

	result->basis.rings = gt_arena_alloc(arena, nrings);
	result->basis.rows = gt_arena_alloc(arena, nrows);
	result->exact.shares =
		gt_arena_array(arena, nrings, sizeof(struct gt_rat));
	result->exact.prices = gt_arena_array(arena, nrows, sizeof(int64_t));
	if (!result->basis.rings || !result->basis.rows ||
	    !result->exact.shares || !result->exact.prices)
		return gt_err_nomem(err);
	return GT_OK;
}

int gt_ring_solve(struct gt_ring_search *s, struct gt_ring_result *result,
		  struct gt_err *err)
{
	int rc = gt_ring_seed(s, err), added = 0;

	if (rc)
		return rc;
	do {
		rc = gt_ring_generate(s, err);
		if (!rc)
			rc = gt_ring_result_init(s, &s->pool, result, err);
		if (rc)
			return rc;
		gt_ring_lp_basis(s->lp, result->basis.rings,
				 result->basis.rows);
		rc = gt_ring_exact_solve(&s->pool, &result->basis,
					 &result->exact, err);
		if (rc)
			return rc;
		gt_ring_price(s, s->pricer, result->exact.prices);
		added = gt_ring_collect(s, s->pricer, result->exact.price_den);
		if (added < 0)
			return gt_err_nomem(err);
	} while (added && gt_ring_goes_on(s));
	return GT_OK;
}

/*
 * Prices per byte such that no ring costs less than 1, knowing that none
 * costs less than `cheapest`, and what they prove; 0 when the numbers do not
 * fit.
 */
static int gt_ring_certify(const struct gt_ring_search *s,
			   const int64_t *prices, int64_t cheapest,
			   struct gt_proposal *proposal)
{
	struct gt_rat product;

	proposal->nprices = 0;
	proposal->bound = GT_RAT(0, 1);
	for (uint32_t r = 0; r < s->rows->nrows; r++) {
		const struct gt_ring_row *row = &s->rows->rows[r];
		struct gt_proposal_price *price =
			&proposal->prices[proposal->nprices];

		if (!prices[r])
			continue;
		price->link = row->link;
		if (!gt_rat_make(prices[r] * s->rows->unit, cheapest,
				 &price->price) ||
		    !gt_rat_mul(row->gbs, price->price, &product) ||
		    !gt_rat_add(proposal->bound, product, &proposal->bound))
			return 0;
		proposal->nprices++;
	}
	return 1;
}

/* Prices rounded up to fewer digits; 0 when they have none left. */
static int gt_ring_coarsen(const struct gt_ring_search *s, int64_t *prices)
{
	int changed = 0;

	for (uint32_t r = 0; r < s->rows->nrows; r++) {
		changed |= prices[r] > 1;
		prices[r] = (prices[r] + 3) / 4;
	}
	return changed;
}

int gt_ring_prove(struct gt_ring_search *s, struct gt_ring_result *result,
		  struct gt_proposal *proposal, struct gt_err *err)
{
	int64_t *prices = result->exact.prices, cheapest;

	proposal->prices = gt_arena_array(s->args->arena, s->rows->nrows,
					  sizeof(*proposal->prices));
	if (!proposal->prices)
		return gt_err_nomem(err);
	for (;;) {
		gt_ring_price(s, s->pricer, prices);
		cheapest = gt_pricer_bound(s->pricer, s->weights);
		if (cheapest < 0)
			return gt_err_nomem(err);
		if (!cheapest || cheapest >= GT_PRICE_NONE)
			return GT_OK;
		proposal->has_bound =
			gt_ring_certify(s, prices, cheapest, proposal);
		if (proposal->has_bound || !gt_ring_coarsen(s, prices))
			return GT_OK;
	}
}
