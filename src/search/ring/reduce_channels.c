/*
 * Fewer rings: greedy packings in several variants, and at last a sparse
 * optimal solution of all rings met.
 */
#include "search/ring/channels.h"

#include <math.h>
#include <stddef.h>

#include "base/err.h"
#include "search/problem/budget.h"
#include "search/problem/link_rows.h"
#include "search/ring/greedy.h"
#include "search/ring/pool.h"
#include "search/ring/program.h"
#include "search/ring/sparse_solution.h"

/* Differences below this part of the value count as none. */
#define GT_REDUCE_EPS 1e-9

/*
 * Variants to try: of a limited number of rings; otherwise, and where there is
 * more to do for each.
 */
enum {
	GT_REDUCE_TRIES_LIMITED = 64,
	GT_REDUCE_TRIES = 32,
	GT_REDUCE_SMALL = 10,
	GT_REDUCE_TRIES_LARGE = 8
};

struct gt_ring_reduction {
	const struct gt_reduce_args *args;
	struct gt_ring_pool *best;
	struct gt_ring_pool seen; /* all rings met */
	double value;             /* to be reached */
	uint32_t least;           /* rings that any such packing has */
	double total;             /* what the best so far reaches */
};

/* The most that a ring over this hop could carry. */
static double reduce_room(const struct gt_link_rows *rows, size_t hop)
{
	double room = 0, one;

	if (!rows->joined[hop])
		return 0;
	for (uint32_t r = 0; r < rows->nrows; r++) {
		uint32_t load = rows->rows[r].load[hop];

		if (!load)
			continue;
		one = gt_rat_double(rows->rows[r].gbs) * rows->unit / load;
		if (one < room || !room)
			room = one;
	}
	return room;
}

/*
 * The fewest rings that can carry the value, as no ring carries more than the
 * best hop out of any rank.
 */
static uint32_t reduce_least(const struct gt_ring_reduction *few)
{
	const struct gt_link_rows *rows = few->best->rows;
	double most = few->value, best, one;

	for (uint32_t from = 0; from < rows->nranks; from++) {
		best = 0;
		for (uint32_t to = 0; to < rows->stride; to++) {
			one = reduce_room(rows,
					  (size_t)from * rows->stride + to);
			if (one > best)
				best = one;
		}
		if (best < most)
			most = best;
	}
	return (uint32_t)ceil(few->value / most * (1 - GT_REDUCE_EPS));
}

/*
 * The number of rings that a better packing may have; 0 when there is no better
 * one.
 */
static uint32_t reduce_max(const struct gt_ring_reduction *few)
{
	uint32_t max = few->args->nused - 1;

	if (few->args->max && few->args->max < max)
		max = few->args->max;
	if (few->best->nrings && few->total >= few->value)
		max = few->best->nrings - 1;
	return few->args->max || max >= few->least ? max : 0;
}

static int reduce_try(struct gt_ring_reduction *few, uint32_t variant,
		      int guided)
{
	int limited = few->args->max && few->args->nused > few->args->max;
	struct gt_greedy_args args = {
		.pricer = few->args->pricer,
		.guide = guided ? few->args->exact : NULL,
		.variant = variant,
		.max = reduce_max(few),
	};
	struct gt_ring_pool pool;
	double total;
	int rc;

	gt_ring_pool_init(&pool, few->best->rows);
	rc = gt_ring_greedy(&pool, &args, &total);
	if (!rc && pool.nrings &&
	    (total >= few->value ||
	     (limited && total > few->total * (1 + GT_REDUCE_EPS)))) {
		gt_ring_pool_release(few->best);
		*few->best = pool;
		few->total = total;
		return GT_OK;
	}
	for (uint32_t i = 0; !rc && i < pool.nrings; i++)
		if (gt_ring_pool_add(&few->seen, gt_ring_pool_order(&pool, i)) <
		    0)
			rc = GT_ESYS;
	gt_ring_pool_release(&pool);
	return rc;
}

/*
 * Without a limit, look for a sparse packing of all rings met that has fewer
 * still.
 */
static int reduce_sparse(struct gt_ring_reduction *few)
{
	struct gt_sparse_args args = {
		.pool = few->args->pool,
		.exact = few->args->exact,
		.seen = &few->seen,
		.most = reduce_max(few),
	};
	struct gt_ring_pool pool;
	int rc;

	gt_ring_pool_init(&pool, few->best->rows);
	rc = gt_ring_sparse_solution(&args, &pool);
	if (!rc && pool.nrings) {
		gt_ring_pool_release(few->best);
		*few->best = pool;
		return GT_OK;
	}
	gt_ring_pool_release(&pool);
	return rc;
}

static uint32_t reduce_tries(const struct gt_ring_reduction *few)
{
	if (few->args->max)
		return GT_REDUCE_TRIES_LIMITED;
	return few->best->rows->n <= GT_REDUCE_SMALL ? GT_REDUCE_TRIES
						     : GT_REDUCE_TRIES_LARGE;
}

static int reduce_run(struct gt_ring_reduction *few)
{
	const struct gt_reduce_args *args = few->args;
	uint32_t tries = reduce_tries(few);
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < tries && reduce_max(few) &&
			     !gt_budget_is_spent(args->budget);
	     i++) {
		rc = reduce_try(few, i, 1);
		if (!rc && args->max && reduce_max(few))
			rc = reduce_try(few, i, 0);
	}
	if (!rc && reduce_max(few) > 1 && !gt_budget_is_spent(args->budget))
		rc = reduce_sparse(few);
	return rc;
}

int gt_ring_reduce_channels(const struct gt_reduce_args *args,
			    struct gt_ring_pool *best)
{
	struct gt_ring_reduction few = {.args = args, .best = best};
	int rc;

	gt_ring_pool_init(&few.seen, best->rows);
	few.value = gt_rat_double(args->exact->value) * (1 - GT_REDUCE_EPS);
	few.least = reduce_least(&few);
	rc = reduce_run(&few);
	gt_ring_pool_release(&few.seen);
	return rc;
}
