/*
 * Fewer and shorter trees at the same value, by linear programs whose gains are
 * reweighted again and again.
 */
#include "search/tree/reduce_trees.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/* How often shares are asked to be fewer, and how often if none are exact. */
enum { GT_FEW_ROUNDS = 6, GT_FEW_MORE = 40 };

/* Against a tree without any share, this part of a root's rate counts. */
#define GT_FEW_EPS 1e-2

/* Hops from the root to a rank, on average. */
static double gt_few_depth(const struct gt_forest *f, uint32_t tree)
{
	return (double)f->trees.trees[tree].far / (f->hops.n - 1);
}

/* How many trees, times their depth by share: less is better. */
static double gt_few_score(const struct gt_forest *f,
			   const struct gt_forest_shares *shares)
{
	double depth = 0, sum = 0;

	for (uint32_t i = 0; i < shares->ntrees; i++) {
		depth += (double)shares->nums[i] *
			 gt_few_depth(f, shares->trees[i]);
		sum += (double)shares->nums[i];
	}
	return shares->ntrees * depth / sum;
}

/*
 * Columns cost their depth, and more the less share they have now; later also
 * by chance, for a basis whose numbers fit.
 */
static void gt_few_gains(const struct gt_forest *f, double rate, uint32_t round,
			 double *gains)
{
	uint32_t chance = round;

	const double *values = gt_lp_values(f->lp);

	gains[0] = 0;
	for (uint32_t i = 0; i < f->trees.ntrees; i++) {
		double share = values[i + 1] > 0 ? values[i + 1] / rate : 0;

		gains[i + 1] = -gt_few_depth(f, i);
		if (round)
			gains[i + 1] /= share + GT_FEW_EPS;
		if (round < GT_FEW_ROUNDS)
			continue;
		chance = chance * 1103515245 + 12345;
		gains[i + 1] *= 1 + (chance >> 16) % 256 / 256.0;
	}
}

static int gt_few_try(struct gt_forest *f, struct gt_rat value,
		      struct gt_forest_shares *best, struct gt_err *err)
{
	const struct gt_forest_given given = {.value = value};
	struct gt_forest_shares made;
	int rc = gt_forest_shares(f, f->lp, &given, &made, err);

	if (rc)
		return rc == GT_ENO ? GT_OK : rc;
	if (gt_rat_cmp(best->value, made.value) < 0 ||
	    gt_few_score(f, &made) < gt_few_score(f, best))
		*best = made;
	return GT_OK;
}

int gt_forest_reduce_trees(struct gt_forest *f, struct gt_rat value,
			   struct gt_forest_shares *shares, struct gt_err *err)
{
	double rate = gt_rat_double(value) / f->nroots, *gains;
	uint32_t rounds = gt_lp_nbasic(f->lp) > GT_FOREST_BASIS ? GT_FEW_ROUNDS
								: GT_FEW_MORE;
	int rc;

	f->target = value;
	if (gt_budget_is_spent(f->args->budget))
		return GT_OK;
	rc = gt_forest_add_short(f, err);
	if (rc)
		return rc;
	gains = calloc((size_t)f->trees.ntrees + 1, sizeof(*gains));
	if (!gains)
		return gt_err_nomem(err);
	gt_lp_set_bounds(f->lp, 0, rate, rate);
	for (uint32_t round = 0; !rc && round < rounds; round++) {
		if (gt_budget_is_spent(f->args->budget) ||
		    (round >= GT_FEW_ROUNDS &&
		     !gt_rat_cmp(shares->value, value)))
			break;
		gt_few_gains(f, rate, round, gains);
		gt_lp_set_gains(f->lp, gains);
		if (gt_lp_solve(f->lp))
			break;
		rc = gt_few_try(f, value, shares, err);
	}
	free(gains);
	return rc;
}
