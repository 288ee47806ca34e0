/*
 * The loop of column generation, and the conversions of dual prices that its
 * oracles share.
 */
#include "search/lp/column_generation.h"

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"

/* A column that is cheaper by this part is worth adding. */
#define GT_COLUMN_SLACK_PART 1e-9

int64_t gt_column_price(double dual)
{
	return dual > 0 ? (int64_t)(dual * (double)GT_COLUMN_ONE) : 0;
}

void gt_column_prices(const struct gt_lp *lp, uint32_t nrows, int64_t *prices)
{
	const double *duals = gt_lp_prices(lp);

	for (uint32_t r = 0; r < nrows; r++)
		prices[r] = gt_column_price(duals[r]);
}

void gt_column_duals(const struct gt_lp *lp, uint32_t nrows, double *prices)
{
	const double *duals = gt_lp_prices(lp);

	for (uint32_t r = 0; r < nrows; r++)
		prices[r] = duals[r] > 0 ? duals[r] : 0;
}

int gt_column_helps(double cost, double worth)
{
	return cost < worth * (1 - GT_COLUMN_SLACK_PART) - 1e-15;
}

int gt_column_generation_solve(const struct gt_column_generation *cg,
			       struct gt_err *err)
{
	int rc;

	if (cg->add_columns)
		cg->add_columns(cg->arg);
	rc = gt_lp_solve(cg->lp);
	if (rc == GT_ESYS)
		return gt_err_set(err, GT_ESYS, NULL,
				  "the linear program of %s was not solved",
				  cg->problem);
	return rc;
}

int gt_column_generation_run(const struct gt_column_generation *cg,
			     struct gt_err *err)
{
	for (uint32_t round = 0;; round++) {
		int rc = gt_column_generation_solve(cg, err), added;

		if (rc || (cg->is_enough && cg->is_enough(cg->arg)))
			return rc;
		if (cg->columns)
			gt_budget_report(cg->budget, cg->columns,
					 *cg->nrounds + 1, cg->value(cg->arg));
		if (round == cg->max_rounds || gt_budget_is_spent(cg->budget))
			return GT_OK;
		added = cg->price(cg->arg, err);
		++*cg->nrounds;
		if (added <= 0)
			return added;
	}
}
