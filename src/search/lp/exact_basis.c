/*
 * The basis that CLP ended with as a system of equations in whole numbers, its
 * solution, and the way back to 64 bits.
 */
#include "search/lp/exact_basis.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/lp/bareiss.h"
#include "search/lp/lp.h"

/* Denominators that sums of products with rates still leave in 64 bits. */
#define GT_EXACT_DEN_MAX (INT64_C(1) << 40)

/* Numerators up to this leave the same sums in 64 bits. */
#define GT_EXACT_NUM_MAX (INT64_C(1) << 52)

void gt_basis_release(struct gt_basis *basis)
{
	for (uint32_t i = 0; basis->x && i < basis->size; i++)
		mpq_clear(basis->x[i]);
	free(basis->x);
	free(basis->columns);
	free(basis->rows);
}

int gt_basis_init(struct gt_basis *basis, const struct gt_basis_program *of,
		  const struct gt_lp *lp)
{
	uint32_t ncolumns = gt_lp_ncolumns(lp), nbasic = 0, nbinding = 0;

	*basis = (struct gt_basis){.of = of};
	basis->columns = malloc((ncolumns + 1) * sizeof(*basis->columns));
	basis->rows = malloc((of->nrows + 1) * sizeof(*basis->rows));
	if (!basis->columns || !basis->rows)
		return GT_ESYS;
	for (uint32_t i = 0; i < ncolumns; i++)
		if (gt_lp_basic(lp, i))
			basis->columns[nbasic++] = i;
	for (uint32_t i = 0; i < of->nrows; i++)
		if (gt_lp_binds(lp, i))
			basis->rows[nbinding++] = i;
	if (!nbasic || nbasic != nbinding)
		return GT_ENO;
	basis->x = malloc(nbasic * sizeof(*basis->x));
	if (!basis->x)
		return GT_ESYS;
	basis->size = nbasic;
	for (uint32_t i = 0; i < nbasic; i++)
		mpq_init(basis->x[i]);
	return GT_OK;
}

/* Row i of the system, or of the transposed one, made whole. */
static void gt_basis_row(const struct gt_basis *basis,
			 struct gt_bareiss *system, uint32_t i, int prices)
{
	const struct gt_basis_program *of = basis->of;
	mpz_ptr right = gt_bareiss_at(system, i, basis->size);
	int64_t den = 1;

	if (prices)
		mpz_set_si(right, of->gain(of->arg, basis->columns[i]));
	else
		den = of->upper(of->arg, basis->rows[i], right);
	for (uint32_t j = 0; j < basis->size; j++) {
		mpz_ptr at = gt_bareiss_at(system, i, j);

		mpz_set_si(at, of->entry(of->arg, basis->rows[prices ? j : i],
					 basis->columns[prices ? i : j]));
		mpz_mul_si(at, at, den);
	}
}

static int gt_basis_solve(struct gt_basis *basis, int prices)
{
	struct gt_bareiss system;
	int rc = gt_bareiss_init(&system, basis->size);

	system.budget = basis->of->budget;
	for (uint32_t i = 0; !rc && i < basis->size; i++)
		gt_basis_row(basis, &system, i, prices);
	if (!rc && !gt_bareiss_solve(&system, basis->x))
		rc = GT_ENO;
	gt_bareiss_release(&system);
	for (uint32_t i = 0; !rc && i < basis->size; i++)
		if (mpq_sgn(basis->x[i]) < 0)
			mpq_set_ui(basis->x[i], 0, 1);
	return rc;
}

/* A link's load over its capacity. */
static void gt_basis_use(const struct gt_basis *basis, uint32_t row,
			 mpq_ptr use)
{
	const struct gt_basis_program *of = basis->of;
	mpq_t part;

	mpq_init(part);
	mpq_set_ui(use, 0, 1);
	for (uint32_t i = 0; i < basis->size; i++) {
		int32_t load = of->entry(of->arg, row, basis->columns[i]);

		if (!load)
			continue;
		mpq_set_si(part, load, 1);
		mpq_mul(part, part, basis->x[i]);
		mpq_add(use, use, part);
	}
	mpz_set_si(mpq_denref(part), of->upper(of->arg, row, mpq_numref(part)));
	mpq_canonicalize(part);
	if (mpq_sgn(part))
		mpq_div(use, use, part);
	mpq_clear(part);
}

/* All shares are taken down by what the fullest link is over its capacity. */
int gt_basis_shares(struct gt_basis *basis)
{
	int rc = gt_basis_solve(basis, 0);
	mpq_t use, most;

	if (rc)
		return rc;
	mpq_inits(use, most, NULL);
	mpq_set_ui(most, 1, 1);
	for (uint32_t row = 0; row < basis->of->nlinks; row++) {
		gt_basis_use(basis, row, use);
		if (mpq_cmp(use, most) > 0)
			mpq_set(most, use);
	}
	for (uint32_t i = 0; i < basis->size; i++)
		mpq_div(basis->x[i], basis->x[i], most);
	mpq_clears(use, most, NULL);
	return GT_OK;
}

int gt_basis_prices(struct gt_basis *basis)
{
	return gt_basis_solve(basis, 1);
}

int64_t gt_basis_denominator(const struct gt_basis *basis)
{
	int64_t common;
	mpz_t den;

	mpz_init_set_ui(den, 1);
	for (uint32_t i = 0; i < basis->size; i++)
		mpz_lcm(den, den, mpq_denref(basis->x[i]));
	if (mpz_cmp_si(den, GT_EXACT_DEN_MAX) > 0)
		mpz_set_si(den, GT_EXACT_DEN_MAX);
	common = mpz_get_si(den);
	mpz_clear(den);
	return common;
}

int64_t gt_basis_numerator(const struct gt_basis *basis, uint32_t i,
			   int64_t den, int up)
{
	int64_t num;
	mpz_t n;

	mpz_init(n);
	mpz_mul_si(n, mpq_numref(basis->x[i]), den);
	if (up)
		mpz_cdiv_q(n, n, mpq_denref(basis->x[i]));
	else
		mpz_fdiv_q(n, n, mpq_denref(basis->x[i]));
	num = mpz_cmp_si(n, GT_EXACT_NUM_MAX) > 0 ? -1 : mpz_get_si(n);
	mpz_clear(n);
	return num;
}

int gt_basis_link_prices(const struct gt_basis_program *of,
			 const struct gt_lp *lp, int64_t *prices)
{
	struct gt_basis basis;
	int rc = gt_basis_init(&basis, of, lp);
	int64_t den, num;

	if (!rc)
		rc = gt_basis_prices(&basis);
	memset(prices, 0, of->nlinks * sizeof(*prices));
	den = rc ? 1 : gt_basis_denominator(&basis);
	for (uint32_t i = 0; !rc && i < basis.size; i++) {
		num = gt_basis_numerator(&basis, i, den, 1);
		if (num < 0)
			rc = GT_ENO;
		else if (basis.rows[i] < of->nlinks)
			prices[basis.rows[i]] = num;
	}
	gt_basis_release(&basis);
	return rc;
}
