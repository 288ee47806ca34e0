#include "search/ring_few.h"

#include <stddef.h>

#include "base/err.h"
#include "search/ring_exact.h"
#include "search/ring_greedy.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"
#include "search/ring_sparse.h"

/* Less than this part of the value is nothing. */
#define GT_FEW_EPS 1e-9

/* Variants to try; fewer where there is more to do for each. */
enum { GT_FEW_TRIES = 64, GT_FEW_SMALL = 16, GT_FEW_TRIES_LARGE = 8 };

struct gt_few {
	const struct gt_few_args *args;
	struct gt_ring_pool *best;
	struct gt_ring_pool seen; /* all rings met */
	double value;             /* to be reached */
	double total;             /* what the best so far reaches */
};

/* Rings that a better packing may have. */
static uint32_t gt_few_max(const struct gt_few *few)
{
	uint32_t max = few->args->nused - 1;

	if (few->args->max && few->args->max < max)
		max = few->args->max;
	if (few->best->nrings && few->total >= few->value)
		max = few->best->nrings - 1;
	return max;
}

static int gt_few_try(struct gt_few *few, uint32_t variant, int guided)
{
	int limited = few->args->max && few->args->nused > few->args->max;
	struct gt_greedy_args args = {
		.pricer = few->args->pricer,
		.guide = guided ? few->args->exact : NULL,
		.variant = variant,
		.max = gt_few_max(few),
	};
	struct gt_ring_pool pool;
	double total;
	int rc;

	gt_ring_pool_init(&pool, few->best->rows);
	rc = gt_ring_greedy(&pool, &args, &total);
	if (!rc && pool.nrings &&
	    (total >= few->value ||
	     (limited && total > few->total * (1 + GT_FEW_EPS)))) {
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

/* Unlimited: of all rings met, a sparse packing, if it has fewer still. */
static int gt_few_sparse(struct gt_few *few)
{
	struct gt_ring_pool pool;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < few->args->pool->nrings; i++)
		if (gt_ring_pool_add(&few->seen,
				     gt_ring_pool_order(few->args->pool, i)) <
		    0)
			rc = GT_ESYS;
	gt_ring_pool_init(&pool, few->best->rows);
	if (!rc)
		rc = gt_ring_sparse(&few->seen, few->args->exact, &pool);
	if (!rc && pool.nrings && pool.nrings <= gt_few_max(few)) {
		gt_ring_pool_release(few->best);
		*few->best = pool;
		return GT_OK;
	}
	gt_ring_pool_release(&pool);
	return rc;
}

static int gt_few_run(struct gt_few *few)
{
	const struct gt_few_args *args = few->args;
	uint32_t tries = few->best->rows->n <= GT_FEW_SMALL
				 ? GT_FEW_TRIES
				 : GT_FEW_TRIES_LARGE;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < tries && gt_few_max(few); i++) {
		rc = gt_few_try(few, i, 1);
		if (!rc && args->max && gt_few_max(few))
			rc = gt_few_try(few, i, 0);
	}
	if (!rc && gt_few_max(few) > 1)
		rc = gt_few_sparse(few);
	return rc;
}

int gt_ring_few(const struct gt_few_args *args, struct gt_ring_pool *best)
{
	struct gt_few few = {.args = args, .best = best};
	int rc;

	gt_ring_pool_init(&few.seen, best->rows);
	few.value = gt_rat_double(args->exact->value) * (1 - GT_FEW_EPS);
	rc = gt_few_run(&few);
	gt_ring_pool_release(&few.seen);
	return rc;
}
