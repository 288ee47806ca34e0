#include "search/ring_lp.h"

#include <stdlib.h>

#include <Clp_C_Interface.h>

#include "base/err.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"

enum {
	GT_CLP_BASIC = 1,
	GT_CLP_NO_PERTURBATION = 100,
};

/* What CLP takes for no limit. */
#define GT_LP_INF 1e30

struct gt_ring_lp {
	Clp_Simplex *model;
	uint32_t nrows, nrings;
	int *index;    /* of one column */
	double *value; /* likewise */
};

static int gt_ring_lp_rows(struct gt_ring_lp *lp,
			   const struct gt_ring_rows *rows)
{
	size_t m = lp->nrows;
	double *lower = malloc((m + 1) * sizeof(*lower));
	double *upper = malloc((m + 1) * sizeof(*upper));
	CoinBigIndex *starts = calloc(m + 1, sizeof(*starts));
	int ok = lower && upper && starts;

	for (size_t i = 0; ok && i < m; i++) {
		lower[i] = -GT_LP_INF;
		upper[i] = gt_rat_double(rows->rows[i].gbs) * rows->unit;
	}
	if (ok)
		Clp_addRows(lp->model, (int)m, lower, upper, starts, lp->index,
			    lp->value);
	free(lower);
	free(upper);
	free(starts);
	return ok;
}

struct gt_ring_lp *gt_ring_lp_new(const struct gt_ring_rows *rows)
{
	struct gt_ring_lp *lp = calloc(1, sizeof(*lp));

	if (!lp)
		return NULL;
	lp->nrows = rows->nrows;
	lp->index = malloc((rows->nrows + 1) * sizeof(*lp->index));
	lp->value = malloc((rows->nrows + 1) * sizeof(*lp->value));
	lp->model = Clp_newModel();
	if (!lp->index || !lp->value || !lp->model ||
	    !gt_ring_lp_rows(lp, rows)) {
		gt_ring_lp_free(lp);
		return NULL;
	}
	Clp_setLogLevel(lp->model, 0);
	Clp_setPerturbation(lp->model, GT_CLP_NO_PERTURBATION);
	Clp_setOptimizationDirection(lp->model, -1);
	return lp;
}

void gt_ring_lp_free(struct gt_ring_lp *lp)
{
	if (!lp)
		return;
	if (lp->model)
		Clp_deleteModel(lp->model);
	free(lp->index);
	free(lp->value);
	free(lp);
}

static void gt_ring_lp_add(struct gt_ring_lp *lp, const uint32_t *loads)
{
	const double lower = 0, upper = GT_LP_INF, gain = 1;
	CoinBigIndex starts[2] = {0, 0};

	for (uint32_t r = 0; r < lp->nrows; r++) {
		if (!loads[r])
			continue;
		lp->index[starts[1]] = (int)r;
		lp->value[starts[1]++] = loads[r];
	}
	Clp_addColumns(lp->model, 1, &lower, &upper, &gain, starts, lp->index,
		       lp->value);
	lp->nrings++;
}

int gt_ring_lp_solve(struct gt_ring_lp *lp, const struct gt_ring_pool *pool,
		     double *prices)
{
	const double *dual;

	while (lp->nrings < pool->nrings)
		gt_ring_lp_add(lp, gt_ring_pool_loads(pool, lp->nrings));
	if (Clp_primal(lp->model, 0) || Clp_status(lp->model))
		return GT_ESYS;
	dual = Clp_dualRowSolution(lp->model);
	for (uint32_t i = 0; prices && i < lp->nrows; i++)
		prices[i] = dual[i] > 0 ? dual[i] : 0;
	return GT_OK;
}

void gt_ring_lp_basis(const struct gt_ring_lp *lp, unsigned char *rings,
		      unsigned char *rows)
{
	for (uint32_t i = 0; i < lp->nrings; i++)
		rings[i] =
			Clp_getColumnStatus(lp->model, (int)i) == GT_CLP_BASIC;
	for (uint32_t i = 0; i < lp->nrows; i++)
		rows[i] = Clp_getRowStatus(lp->model, (int)i) != GT_CLP_BASIC;
}

int gt_ring_lp_bind(struct gt_ring_lp *lp, const unsigned char *rows)
{
	double *lower = malloc((lp->nrows + 1) * sizeof(*lower));
	const double *upper = Clp_rowUpper(lp->model);

	if (!lower)
		return GT_ESYS;
	for (uint32_t i = 0; i < lp->nrows; i++)
		lower[i] = rows[i] ? upper[i] : -GT_LP_INF;
	Clp_chgRowLower(lp->model, lower);
	free(lower);
	return GT_OK;
}

int gt_ring_lp_least(struct gt_ring_lp *lp, const double *costs, double *shares)
{
	const double *solution;

	Clp_setOptimizationDirection(lp->model, 1);
	Clp_chgObjCoefficients(lp->model, costs);
	if (Clp_primal(lp->model, 0) || Clp_status(lp->model))
		return GT_ESYS;
	solution = Clp_primalColumnSolution(lp->model);
	for (uint32_t i = 0; i < lp->nrings; i++)
		shares[i] = solution[i];
	return GT_OK;
}
