/*
 * Fewer and shorter trees at the same value, by linear programs whose gains are
 * reweighted again and again.
 */
#include "search/tree/shares.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/*
 * How often the program is solved for fewer shares, and how often when no exact
 * ones were found.
 */
enum { GT_REDUCE_ROUNDS = 6, GT_REDUCE_MORE = 40 };

/*
 * A tree without a share is weighted as if it had this part of a root's rate.
 */
#define GT_REDUCE_EPS 1e-2

/* The average number of hops from the root to a rank. */
static double reduce_depth(const struct gt_forest *f, uint32_t tree)
{
	return (double)f->trees.trees[tree].far / (f->hops.n - 1);
}

/* The number of trees times their depth, weighted by share; less is better. */
static double reduce_score(const struct gt_forest *f,
			   const struct gt_forest_shares *shares)
{
	double depth = 0, sum = 0;

	for (uint32_t i = 0; i < shares->ntrees; i++) {
		depth += (double)shares->nums[i] *
			 reduce_depth(f, shares->trees[i]);
		sum += (double)shares->nums[i];
	}
	return shares->ntrees * depth / sum;
}

/*
 * Columns cost their depth, and more the less share they have now; later also
 * by chance, for a basis whose numbers fit.
 */
static void reduce_gains(const struct gt_forest *f, double rate, uint32_t round,
			 double *gains)
{
	uint32_t chance = round;

	const double *values = gt_lp_values(f->lp);

	gains[0] = 0;
	for (uint32_t i = 0; i < f->trees.ntrees; i++) {
		double share = values[i + 1] > 0 ? values[i + 1] / rate : 0;

		gains[i + 1] = -reduce_depth(f, i);
		if (round)
			gains[i + 1] /= share + GT_REDUCE_EPS;
		if (round < GT_REDUCE_ROUNDS)
			continue;
		chance = chance * 1103515245 + 12345;
		gains[i + 1] *= 1 + (chance >> 16) % 256 / 256.0;
	}
}

static int reduce_try(struct gt_forest *f, struct gt_rat value,
		      struct gt_forest_shares *best, struct gt_err *err)
{
	const struct gt_forest_given given = {.value = value};
	struct gt_forest_shares made;
	int rc = gt_forest_shares(f, f->lp, &given, &made, err);

	if (rc)
		return rc == GT_ENO ? GT_OK : rc;
	if (gt_rat_cmp(best->value, made.value) < 0 ||
	    reduce_score(f, &made) < reduce_score(f, best))
		*best = made;
	return GT_OK;
}

int gt_forest_reduce_trees(struct gt_forest *f, struct gt_rat value,
			   struct gt_forest_shares *shares, struct gt_err *err)
{
	double rate = gt_rat_double(value) / f->nroots, *gains;
	uint32_t rounds = gt_lp_nbasic(f->lp) > GT_FOREST_BASIS
				  ? GT_REDUCE_ROUNDS
				  : GT_REDUCE_MORE;
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
		    (round >= GT_REDUCE_ROUNDS &&
		     !gt_rat_cmp(shares->value, value)))
			break;
		gt_budget_report(
			f->args->budget, "fewer trees", round + 1,
			gt_rat_double(shares->value) *
				gt_coll_busbw_factor(f->args->coll, f->hops.n));
		reduce_gains(f, rate, round, gains);
		gt_lp_set_gains(f->lp, gains);
		if (gt_lp_solve(f->lp))
			break;
		rc = reduce_try(f, value, shares, err);
	}
	free(gains);
	return rc;
}
