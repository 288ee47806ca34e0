/* Linear programs as calls of CLP; no other file of the project knows it. */
#include "search/lp/lp.h"

#include <stdlib.h>

#include <Clp_C_Interface.h>

#include "base/err.h"

enum {
	GT_CLP_OPTIMAL = 0,
	GT_CLP_INFEASIBLE = 1,
	GT_CLP_BASIC = 1,
	GT_CLP_NO_PERTURBATION = 100,
};

/* CLP takes numbers from this on for no limit. */
#define GT_LP_INF 1e30

struct gt_lp {
	Clp_Simplex *model;
	uint32_t nrows, ncolumns;
	int *index;    /* of one column */
	double *value; /* likewise */
};

/*
 * LAPACK, which CLP calls, calls this when its arguments are wrong.  Its own
 * one writes in Fortran: with that comes gfortran's library, which allocates
 * before main() and ends the process with status 1 where it cannot.
 */
void xerbla_(const char *name, const int *argument, size_t name_len);

void xerbla_(const char *name, const int *argument, size_t name_len)
{
	(void)name;
	(void)argument;
	(void)name_len;
	abort();
}

static int gt_lp_rows(struct gt_lp *lp, const double *upper)
{
	size_t m = lp->nrows;
	double *lower = malloc((m + 1) * sizeof(*lower));
	CoinBigIndex *starts = calloc(m + 1, sizeof(*starts));
	int ok = lower && starts;

	for (size_t i = 0; ok && i < m; i++)
		lower[i] = -GT_LP_INF;
	if (ok)
		Clp_addRows(lp->model, (int)m, lower, upper, starts, lp->index,
			    lp->value);
	free(lower);
	free(starts);
	return ok;
}

struct gt_lp *gt_lp_new(uint32_t nrows, const double *upper)
{
	struct gt_lp *lp = calloc(1, sizeof(*lp));

	if (!lp)
		return NULL;
	lp->nrows = nrows;
	lp->index = malloc(((size_t)nrows + 1) * sizeof(*lp->index));
	lp->value = malloc(((size_t)nrows + 1) * sizeof(*lp->value));
	lp->model = Clp_newModel();
	if (!lp->index || !lp->value || !lp->model || !gt_lp_rows(lp, upper)) {
		gt_lp_free(lp);
		return NULL;
	}
	Clp_setLogLevel(lp->model, 0);
	Clp_setPerturbation(lp->model, GT_CLP_NO_PERTURBATION);
	Clp_setOptimizationDirection(lp->model, -1);
	return lp;
}

void gt_lp_free(struct gt_lp *lp)
{
	if (!lp)
		return;
	if (lp->model)
		Clp_deleteModel(lp->model);
	free(lp->index);
	free(lp->value);
	free(lp);
}

void gt_lp_add(struct gt_lp *lp, double gain, const int32_t *entries)
{
	const double lower = 0, upper = GT_LP_INF;
	CoinBigIndex starts[2] = {0, 0};

	for (uint32_t r = 0; r < lp->nrows; r++) {
		if (!entries[r])
			continue;
		lp->index[starts[1]] = (int)r;
		lp->value[starts[1]++] = entries[r];
	}
	Clp_addColumns(lp->model, 1, &lower, &upper, &gain, starts, lp->index,
		       lp->value);
	lp->ncolumns++;
}

uint32_t gt_lp_ncolumns(const struct gt_lp *lp)
{
	return lp->ncolumns;
}

void gt_lp_set_gains(struct gt_lp *lp, const double *gains)
{
	double *all = Clp_objective(lp->model);

	for (uint32_t i = 0; i < lp->ncolumns; i++)
		all[i] = gains ? gains[i] : 0;
}

void gt_lp_set_bounds(struct gt_lp *lp, uint32_t column, double lower,
		      double upper)
{
	Clp_columnLower(lp->model)[column] = lower;
	Clp_columnUpper(lp->model)[column] =
		upper > GT_LP_INF ? GT_LP_INF : upper;
}

void gt_lp_raise_lower(struct gt_lp *lp, uint32_t column, double lower)
{
	double *all = Clp_columnLower(lp->model);

	if (all[column] < lower)
		all[column] = lower;
}

int gt_lp_solve(struct gt_lp *lp)
{
	Clp_primal(lp->model, 0);
	switch (Clp_status(lp->model)) {
	case GT_CLP_OPTIMAL:
		return GT_OK;
	case GT_CLP_INFEASIBLE:
		return GT_ENO;
	default:
		return GT_ESYS;
	}
}

const double *gt_lp_values(const struct gt_lp *lp)
{
	return Clp_primalColumnSolution(lp->model);
}

const double *gt_lp_prices(const struct gt_lp *lp)
{
	return Clp_dualRowSolution(lp->model);
}

int gt_lp_basic(const struct gt_lp *lp, uint32_t column)
{
	return Clp_getColumnStatus(lp->model, (int)column) == GT_CLP_BASIC;
}

uint32_t gt_lp_nbasic(const struct gt_lp *lp)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gt_lp_ncolumns(lp); i++)
		n += (uint32_t)gt_lp_basic(lp, i);
	return n;
}

int gt_lp_binds(const struct gt_lp *lp, uint32_t row)
{
	return Clp_getRowStatus(lp->model, (int)row) != GT_CLP_BASIC;
}
