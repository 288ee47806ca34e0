#include "search/ring_few.h"

#include <stddef.h>

#include "base/err.h"
#include "search/ring_exact.h"
#include "search/ring_greedy.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"

/* Less than this part of the value is nothing. */
#define GT_FEW_EPS 1e-9

/* Variants to try; fewer where there is more to do for each. */
enum { GT_FEW_TRIES = 64, GT_FEW_SMALL = 16, GT_FEW_TRIES_LARGE = 8 };

struct gt_few {
	const struct gt_few_args *args;
	struct gt_ring_pool *best;
	double value; /* to be reached */
	double total; /* what the best so far reaches */
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
	gt_ring_pool_release(&pool);
	return rc;
}

int gt_ring_few(const struct gt_few_args *args, struct gt_ring_pool *best)
{
	struct gt_few few = {.args = args, .best = best};
	uint32_t tries = best->rows->n <= GT_FEW_SMALL ? GT_FEW_TRIES
						       : GT_FEW_TRIES_LARGE;
	int rc = GT_OK;

	few.value = gt_rat_double(args->exact->value) * (1 - GT_FEW_EPS);
	for (uint32_t i = 0; !rc && i < tries && gt_few_max(&few); i++) {
		rc = gt_few_try(&few, i, 1);
		if (!rc && args->max && gt_few_max(&few))
			rc = gt_few_try(&few, i, 0);
	}
	return rc;
}
