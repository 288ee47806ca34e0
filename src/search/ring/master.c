/*
 * The ring packing's restricted master: first rings, column generation, the
 * exact solution, and the bound that its prices prove.
 */
#include "search/ring/master.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/column_generation.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"
#include "search/ring/greedy.h"
#include "search/ring/pricing.h"
#include "search/ring/program.h"

/*
 * Rounds after which the best so far has to do, and up to how many ranks exact
 * pricing is as quick as any.
 */
enum { GT_RING_ROUNDS = 2000, GT_RING_SMALL = 10 };

/* Loads of hops on links that fit in memory. */
#define GT_RING_LOADS_MAX ((size_t)1 << 26)

/* Everything of the search but its rows. */
static int gt_ring_search_begin(struct gt_ring_search *s, struct gt_err *err)
{
	struct gt_arena *arena = s->args->arena;
	const struct gt_external_ports *external = s->args->fabric->external;
	size_t m = s->rows->stride;
	uint32_t n = s->rows->nranks;

	gt_ring_pool_init(&s->pool, s->rows);
	s->lp = gt_ring_lp_new(s->rows);
	s->pricer = gt_pricer_new(n, external, 0);
	s->quick = gt_pricer_new(n, external, n > GT_RING_SMALL);
	s->prices = gt_arena_array(arena, s->rows->nrows, sizeof(*s->prices));
	s->weights = gt_arena_array(arena, m * m, sizeof(*s->weights));
	s->closed = gt_arena_array(arena, m * m, sizeof(*s->closed));
	s->order = gt_arena_array(arena, m, sizeof(*s->order));
	if (!s->lp || !s->pricer || !s->quick || !s->prices || !s->weights ||
	    !s->closed || !s->order)
		return gt_err_nomem(err);
	return GT_OK;
}

int gt_ring_search_init(struct gt_ring_search *s,
			const struct gt_shape_args *args, struct gt_err *err)
{
	uint32_t n = args->fabric->nranks;
	const struct gt_external_ports *external = args->fabric->external;
	size_t m = n + (external ? 2 * (size_t)external->nports : 0);
	int rc;

	if (m * m * args->fabric->nlinks > GT_RING_LOADS_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u GPUs on %u links are too many for the "
				  "ring search; name fewer with --gpus",
				  n, args->fabric->nlinks);
	s->args = args;
	rc = gt_link_rows_new(args->fabric, args->arena, &s->rows, err);
	return rc ? rc : gt_ring_search_begin(s, err);
}

int gt_ring_search_limit(struct gt_ring_search *s,
			 const struct gt_ring_search *all,
			 uint32_t max_channels, struct gt_err *err)
{
	int rc = gt_link_rows_limit(all->rows, max_channels, all->args->arena,
				    &s->rows, err);

	if (rc)
		return rc;
	s->args = all->args;
	rc = gt_ring_search_begin(s, err);
	for (uint32_t i = 0; !rc && i < all->pool.nrings; i++)
		if (gt_ring_pool_add(&s->pool,
				     gt_ring_pool_order(&all->pool, i)) < 0)
			rc = gt_err_nomem(err);
	return rc;
}

void gt_ring_search_release(struct gt_ring_search *s)
{
	gt_ring_pool_release(&s->pool);
	gt_lp_free(s->lp);
	gt_pricer_free(s->pricer);
	gt_pricer_free(s->quick);
}

/* Price rings of this width; weights of missing hops are set apart. */
static void gt_ring_price(struct gt_ring_search *s, struct gt_pricer *pricer,
			  const int64_t *prices, uint32_t width)
{
	size_t nn = (size_t)s->rows->stride * s->rows->stride;

	gt_ring_weights(s->rows, prices, s->weights);
	for (size_t i = 0; i < nn; i++)
		if (!s->rows->joined[i] || s->weights[i] > GT_PRICER_NO_HOP ||
		    (s->rows->max_channels && s->rows->width[i] < width))
			s->weights[i] = GT_PRICER_NO_HOP;
	gt_ring_close(s->rows, s->weights, s->closed);
	gt_pricer_run(pricer, s->closed);
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
			gt_ring_relay(s->rows, s->weights, s->order);
			one = gt_ring_pool_add(&s->pool, s->order);
			if (one < 0)
				return one;
			added += one;
			gt_link_rows_reverse_ring(s->rows, s->order);
		}
	}
	return added;
}

/*
 * The cost of a ring of this width as one more channel, where channels are
 * limited.
 */
static int64_t gt_ring_channel(const struct gt_ring_search *s,
			       const int64_t *prices, uint32_t width)
{
	const struct gt_link_rows *rows = s->rows;
	__int128 cost;

	if (!rows->max_channels)
		return 0;
	cost = (__int128)prices[rows->nrows - 1] * rows->count[width];
	return cost < GT_PRICER_NO_HOP ? (int64_t)cost : GT_PRICER_NO_HOP;
}

/* Add rings that cost less than limit: how many were new, or GT_ESYS. */
static int gt_ring_cheaper(struct gt_ring_search *s, struct gt_pricer *pricer,
			   const int64_t *prices, int64_t limit)
{
	int added = 0, one;

	for (uint32_t width = 0; width < s->rows->nwidths; width++) {
		gt_ring_price(s, pricer, prices, width);
		one = gt_ring_collect(
			s, pricer, limit - gt_ring_channel(s, prices, width));
		if (one < 0)
			return one;
		added += one;
	}
	return added;
}

/*
 * The first rings are that of the ranks in order, which people expect where all
 * are alike, and a greedy packing.
 */
int gt_ring_seed(struct gt_ring_search *s, struct gt_err *err)
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
				  s->rows->nranks);
	return GT_OK;
}

double gt_ring_value(const struct gt_ring_search *s)
{
	const double *values = gt_lp_values(s->lp);
	double value = 0;

	for (uint32_t i = 0; i < gt_lp_ncolumns(s->lp); i++)
		value += values[i];
	return value;
}

static int gt_ring_goes_on(const struct gt_ring_search *s)
{
	return s->nrounds < GT_RING_ROUNDS &&
	       !gt_budget_is_spent(s->args->budget);
}

static void gt_ring_add_columns(void *arg)
{
	struct gt_ring_search *s = arg;

	gt_ring_lp_add(s->lp, &s->pool);
}

static double gt_ring_lp_value(void *arg)
{
	return gt_ring_value(arg);
}

static int gt_ring_is_enough(void *arg)
{
	const struct gt_ring_search *s = arg;

	return s->enough > 0 && gt_ring_value(s) >= s->enough;
}

/* The quick pricer is asked first, the exact one only when that has none. */
static int gt_ring_price_columns(void *arg, struct gt_err *err)
{
	const int64_t limit = GT_COLUMN_ONE - GT_COLUMN_SLACK;
	struct gt_ring_search *s = arg;
	int added;

	gt_column_prices(s->lp, s->rows->nrows, s->prices);
	added = gt_ring_cheaper(s, s->quick, s->prices, limit);
	if (!added)
		added = gt_ring_cheaper(s, s->pricer, s->prices, limit);
	return added < 0 ? gt_err_nomem(err) : added;
}

int gt_ring_generate(struct gt_ring_search *s, struct gt_err *err)
{
	const struct gt_column_generation cg = {
		.lp = s->lp,
		.problem = "the ring search",
		.columns = "rings",
		/* at least one, however many were taken before */
		.max_rounds = s->nrounds < GT_RING_ROUNDS
				      ? GT_RING_ROUNDS - s->nrounds
				      : 1,
		.nrounds = &s->nrounds,
		.budget = s->args->budget,
		.arg = s,
		.add_columns = gt_ring_add_columns,
		.value = gt_ring_lp_value,
		.is_enough = gt_ring_is_enough,
		.price = gt_ring_price_columns,
	};

	return gt_column_generation_run(&cg, err);
}

int gt_ring_add_priced(struct gt_ring_search *s, const double *prices)
{
	for (uint32_t i = 0; i < s->rows->nrows; i++)
		s->prices[i] = gt_column_price(prices[i]);
	return gt_ring_cheaper(s, s->quick, s->prices,
			       GT_COLUMN_ONE - GT_COLUMN_SLACK);
}

int gt_ring_result_init(const struct gt_ring_search *s,
			const struct gt_ring_pool *pool,
			struct gt_ring_exact *result, struct gt_err *err)
{
	struct gt_arena *arena = s->args->arena;
	uint32_t nrows = s->rows->nrows, nrings = pool->nrings;

	result->shares = gt_arena_array(arena, nrings, sizeof(struct gt_rat));
	result->nshares = nrings;
	result->prices = gt_arena_array(arena, nrows, sizeof(int64_t));
	if (!result->shares || !result->prices)
		return gt_err_nomem(err);
	return GT_OK;
}

/*
 * One exact solution of the master, and how many rings cost less than it says.
 */
static int gt_ring_solve_once(struct gt_ring_search *s,
			      struct gt_ring_exact *result, int *added,
			      struct gt_err *err)
{
	int rc = gt_ring_generate(s, err);

	if (!rc)
		rc = gt_ring_result_init(s, &s->pool, result, err);
	if (!rc)
		rc = gt_ring_exact_solve(&s->pool, s->lp, result, err);
	if (rc)
		return rc;
	*added = gt_ring_cheaper(s, s->pricer, result->prices,
				 result->price_den);
	return *added < 0 ? gt_err_nomem(err) : GT_OK;
}

int gt_ring_result_extend(const struct gt_ring_search *s,
			  struct gt_ring_exact *result, struct gt_err *err)
{
	struct gt_rat *shares =
		gt_arena_array(s->args->arena, s->pool.nrings, sizeof(*shares));

	if (!shares)
		return gt_err_nomem(err);
	memcpy(shares, result->shares, result->nshares * sizeof(*shares));
	for (uint32_t i = result->nshares; i < s->pool.nrings; i++)
		shares[i] = GT_RAT(0, 1);
	result->shares = shares;
	result->nshares = s->pool.nrings;
	return GT_OK;
}

int gt_ring_solve(struct gt_ring_search *s, struct gt_ring_exact *result,
		  struct gt_err *err)
{
	int rc = s->pool.nrings ? GT_OK : gt_ring_seed(s, err), added = 0;

	if (rc)
		return rc;
	do {
		rc = gt_ring_solve_once(s, result, &added, err);
		if (rc)
			return rc;
	} while (added && gt_ring_goes_on(s));
	return gt_ring_result_extend(s, result, err);
}

/* The price of a channel, and what the limit on channels adds to the bound. */
static int gt_ring_certify_channels(const struct gt_ring_search *s,
				    int64_t price, int64_t cheapest,
				    struct gt_proposal *proposal)
{
	struct gt_rat sum;

	return gt_rat_make(price, cheapest, &sum) &&
	       gt_rat_mul(sum, GT_RAT(s->rows->scale, 1),
			  &proposal->channel_price) &&
	       gt_rat_mul(proposal->channel_price,
			  GT_RAT(s->rows->max_channels, 1), &sum) &&
	       gt_rat_add(proposal->bound, sum, &proposal->bound);
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
	proposal->channel_price = GT_RAT(0, 1);
	proposal->bound = GT_RAT(0, 1);
	for (uint32_t r = 0; r < s->rows->nrows; r++) {
		const struct gt_link_row *row = &s->rows->rows[r];
		struct gt_proposal_price *price =
			&proposal->prices[proposal->nprices];

		if (!prices[r])
			continue;
		if (!row->load) {
			if (!gt_ring_certify_channels(s, prices[r], cheapest,
						      proposal))
				return 0;
			continue;
		}
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

int64_t gt_ring_min_cost(struct gt_ring_search *s, const int64_t *prices)
{
	int64_t least = GT_PRICER_NO_HOP, one;

	for (uint32_t width = 0; width < s->rows->nwidths; width++) {
		gt_ring_price(s, s->pricer, prices, width);
		one = gt_pricer_bound(s->pricer, s->closed);
		if (one < 0)
			return one;
		one += gt_ring_channel(s, prices, width);
		least = one < least ? one : least;
	}
	return least;
}

int gt_ring_prove(struct gt_ring_search *s, struct gt_ring_exact *result,
		  struct gt_proposal *proposal, struct gt_err *err)
{
	int64_t *prices = result->prices, cheapest;

	proposal->prices = gt_arena_array(s->args->arena, s->rows->nrows,
					  sizeof(*proposal->prices));
	if (!proposal->prices)
		return gt_err_nomem(err);
	for (;;) {
		cheapest = gt_ring_min_cost(s, prices);
		if (cheapest < 0)
			return gt_err_nomem(err);
		if (!cheapest || cheapest >= GT_PRICER_NO_HOP)
			return GT_OK;
		proposal->has_bound =
			gt_ring_certify(s, prices, cheapest, proposal);
		if (proposal->has_bound || !gt_ring_coarsen(s, prices))
			return GT_OK;
	}
}
