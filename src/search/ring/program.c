/* The ring packing's linear program over a pool, in floats and then exactly. */
#include "search/ring/program.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/link_rows.h"
#include "search/ring/pool.h"

struct gt_lp *gt_ring_lp_new(const struct gt_link_rows *rows)
{
	double *upper = malloc((rows->nrows + 1) * sizeof(*upper));
	struct gt_lp *lp;

	if (!upper)
		return NULL;
	for (uint32_t i = 0; i < rows->nrows; i++)
		upper[i] = gt_rat_double(rows->rows[i].gbs) * rows->unit;
	lp = gt_lp_new(rows->nrows, upper);
	free(upper);
	return lp;
}

void gt_ring_lp_add(struct gt_lp *lp, const struct gt_ring_pool *pool)
{
	for (uint32_t i = gt_lp_ncolumns(lp); i < pool->nrings; i++)
		gt_lp_add(lp, 1, (const int32_t *)gt_ring_pool_loads(pool, i));
}

int gt_ring_lp_solve(struct gt_lp *lp, const struct gt_ring_pool *pool)
{
	gt_ring_lp_add(lp, pool);
	return gt_lp_solve(lp);
}

static int32_t gt_ring_entry(const void *pool, uint32_t row, uint32_t ring)
{
	return (int32_t)gt_ring_pool_loads(pool, ring)[row];
}

static int64_t gt_ring_upper(const void *arg, uint32_t row, mpz_ptr upper)
{
	const struct gt_ring_pool *pool = arg;
	struct gt_rat gbs = pool->rows->rows[row].gbs;

	mpz_set_si(upper, gbs.num);
	mpz_mul_ui(upper, upper, pool->rows->unit);
	return gbs.den;
}

static int gt_ring_gain(const void *pool, uint32_t ring)
{
	(void)pool;
	(void)ring;
	return 1;
}

static int gt_ring_prices(struct gt_basis *basis, uint32_t nrows,
			  struct gt_ring_exact *exact)
{
	int rc = gt_basis_prices(basis);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < nrows; i++)
		exact->prices[i] = 0;
	exact->price_den = gt_basis_denominator(basis);
	for (uint32_t i = 0; i < basis->size; i++) {
		int64_t num = gt_basis_numerator(basis, i, exact->price_den, 1);

		if (num < 0)
			return GT_ENO;
		exact->prices[basis->rows[i]] = num;
	}
	return GT_OK;
}

static int gt_ring_shares(struct gt_basis *basis, uint32_t nrings,
			  struct gt_ring_exact *exact)
{
	int rc = gt_basis_shares(basis);
	int64_t den, sum = 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < nrings; i++)
		exact->shares[i] = GT_RAT(0, 1);
	den = gt_basis_denominator(basis);
	for (uint32_t i = 0; i < basis->size; i++) {
		int64_t num = gt_basis_numerator(basis, i, den, 0);

		if (num < 0)
			return GT_ENO;
		sum += num;
		gt_rat_make(num, den, &exact->shares[basis->columns[i]]);
	}
	gt_rat_make(sum, den, &exact->value);
	return sum > 0 ? GT_OK : GT_ENO;
}

int gt_ring_exact_solve(const struct gt_ring_pool *pool, const struct gt_lp *lp,
			struct gt_ring_exact *exact, struct gt_err *err)
{
	const struct gt_basis_program of = {
		.arg = pool,
		.nrows = pool->rows->nrows,
		.nlinks = pool->rows->nrows,
		.entry = gt_ring_entry,
		.upper = gt_ring_upper,
		.gain = gt_ring_gain,
	};
	struct gt_basis basis;
	int rc = gt_basis_init(&basis, &of, lp);

	if (!rc)
		rc = gt_ring_prices(&basis, of.nrows, exact);
	if (!rc)
		rc = gt_ring_shares(&basis, pool->nrings, exact);
	gt_basis_release(&basis);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	return rc;
}
