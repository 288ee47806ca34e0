/*
 * Fraction-free elimination: pivots, elimination below them, and substitution
 * from the last row up, all in whole numbers of GMP.
 */
#include "search/lp/bareiss.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/problem/budget.h"

int gt_bareiss_init(struct gt_bareiss *system, uint32_t size)
{
	size_t n = (size_t)size * (size + 1);

	system->size = size;
	system->budget = NULL;
	system->at = malloc((n + 1) * sizeof(*system->at));
	if (!system->at)
		return GT_ESYS;
	for (size_t i = 0; i < n; i++)
		mpz_init(system->at[i]);
	return GT_OK;
}

void gt_bareiss_release(struct gt_bareiss *system)
{
	size_t n = (size_t)system->size * (system->size + 1);

	if (!system->at)
		return;
	for (size_t i = 0; i < n; i++)
		mpz_clear(system->at[i]);
	free(system->at);
}

mpz_ptr gt_bareiss_at(const struct gt_bareiss *system, uint32_t row,
		      uint32_t column)
{
	return system->at[(size_t)row * (system->size + 1) + column];
}

/* Numbers of the row from column k on that are not 0. */
static uint32_t gt_bareiss_count(const struct gt_bareiss *system, uint32_t row,
				 uint32_t k)
{
	uint32_t count = 0;

	for (uint32_t j = k; j < system->size; j++)
		count += mpz_sgn(gt_bareiss_at(system, row, j)) != 0;
	return count;
}

/*
 * Bring a row with something in column k to row k, the emptiest, so that others
 * stay empty; 0 when there is none.
 */
static int gt_bareiss_pivot(struct gt_bareiss *system, uint32_t k)
{
	uint32_t n = system->size, best = n, least = n + 1, count;

	for (uint32_t i = k; i < n; i++) {
		if (!mpz_sgn(gt_bareiss_at(system, i, k)))
			continue;
		count = gt_bareiss_count(system, i, k);
		if (count < least) {
			least = count;
			best = i;
		}
	}
	if (best == n)
		return 0;
	for (uint32_t j = k; best != k && j <= n; j++)
		mpz_swap(gt_bareiss_at(system, best, j),
			 gt_bareiss_at(system, k, j));
	return 1;
}

/* row i = (pivot * row i - at(i, k) * row k) / the pivot before, behind k */
static void gt_bareiss_clear(struct gt_bareiss *system, uint32_t i, uint32_t k,
			     mpz_srcptr before)
{
	mpz_srcptr pivot = gt_bareiss_at(system, k, k);
	mpz_srcptr factor = gt_bareiss_at(system, i, k);
	int only_scaled = !mpz_sgn(factor);

	if (only_scaled && !mpz_cmp(pivot, before))
		return;
	for (uint32_t j = k + 1; j <= system->size; j++) {
		mpz_ptr at = gt_bareiss_at(system, i, j);
		mpz_srcptr above = gt_bareiss_at(system, k, j);
		int same = only_scaled || !mpz_sgn(above);

		if (same && !mpz_sgn(at))
			continue;
		mpz_mul(at, at, pivot);
		if (!same)
			mpz_submul(at, factor, above);
		mpz_divexact(at, at, before);
	}
}

/*
 * From the last row up, all times the determinant, which is the last pivot: by
 * Cramer's rule these are whole.
 */
static void gt_bareiss_back(struct gt_bareiss *system)
{
	uint32_t n = system->size;
	mpz_srcptr det = gt_bareiss_at(system, n - 1, n - 1);

	for (uint32_t i = n - 1; i-- > 0;) {
		mpz_ptr right = gt_bareiss_at(system, i, n);

		mpz_mul(right, right, det);
		for (uint32_t j = i + 1; j < n; j++)
			if (mpz_sgn(gt_bareiss_at(system, i, j)))
				mpz_submul(right, gt_bareiss_at(system, i, j),
					   gt_bareiss_at(system, j, n));
		mpz_divexact(right, right, gt_bareiss_at(system, i, i));
	}
}

int gt_bareiss_solve(struct gt_bareiss *system, mpq_t *x)
{
	uint32_t n = system->size;
	mpz_t before;
	int regular = 1;

	mpz_init_set_ui(before, 1);
	for (uint32_t k = 0; regular && k < n; k++) {
		gt_budget_go_on(system->budget);
		regular = gt_bareiss_pivot(system, k);
		for (uint32_t i = k + 1; regular && i < n; i++)
			gt_bareiss_clear(system, i, k, before);
		if (regular)
			mpz_set(before, gt_bareiss_at(system, k, k));
	}
	if (regular && n)
		gt_bareiss_back(system);
	for (uint32_t k = 0; regular && k < n; k++) {
		mpz_set(mpq_numref(x[k]), gt_bareiss_at(system, k, n));
		mpz_set(mpq_denref(x[k]), before);
		mpq_canonicalize(x[k]);
	}
	mpz_clear(before);
	return regular;
}
