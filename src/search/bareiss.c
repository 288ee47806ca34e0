#include "search/bareiss.h"

#include <stdlib.h>

#include "base/err.h"

int gt_system_init(struct gt_system *system, uint32_t size)
{
	size_t n = (size_t)size * (size + 1);

	system->size = size;
	system->at = malloc((n + 1) * sizeof(*system->at));
	if (!system->at)
		return GT_ESYS;
	for (size_t i = 0; i < n; i++)
		mpz_init(system->at[i]);
	return GT_OK;
}

void gt_system_release(struct gt_system *system)
{
	size_t n = (size_t)system->size * (system->size + 1);

	if (!system->at)
		return;
	for (size_t i = 0; i < n; i++)
		mpz_clear(system->at[i]);
	free(system->at);
}

mpz_ptr gt_system_at(const struct gt_system *system, uint32_t row,
		     uint32_t column)
{
	return system->at[(size_t)row * (system->size + 1) + column];
}

/* Bring a row with something in column k to row k; 0 when there is none. */
static int gt_system_pivot(struct gt_system *system, uint32_t k)
{
	uint32_t n = system->size, row = k;

	while (row < n && !mpz_sgn(gt_system_at(system, row, k)))
		row++;
	if (row == n)
		return 0;
	for (uint32_t j = 0; row != k && j <= n; j++)
		mpz_swap(gt_system_at(system, row, j),
			 gt_system_at(system, k, j));
	return 1;
}

/* row i = (pivot * row i - at(i, k) * row k) / the pivot before */
static void gt_system_clear(struct gt_system *system, uint32_t i, uint32_t k,
			    mpz_srcptr before)
{
	mpz_srcptr pivot = gt_system_at(system, k, k);
	mpz_ptr factor = gt_system_at(system, i, k);

	for (uint32_t j = 0; j <= system->size; j++) {
		mpz_ptr at = gt_system_at(system, i, j);

		if (j == k)
			continue;
		mpz_mul(at, at, pivot);
		mpz_submul(at, factor, gt_system_at(system, k, j));
		mpz_divexact(at, at, before);
	}
	mpz_set_ui(factor, 0);
}

int gt_system_solve(struct gt_system *system, mpq_t *x)
{
	uint32_t n = system->size;
	mpz_t before;
	int regular = 1;

	mpz_init_set_ui(before, 1);
	for (uint32_t k = 0; regular && k < n; k++) {
		regular = gt_system_pivot(system, k);
		for (uint32_t i = 0; regular && i < n; i++)
			if (i != k)
				gt_system_clear(system, i, k, before);
		if (regular)
			mpz_set(before, gt_system_at(system, k, k));
	}
	for (uint32_t k = 0; regular && k < n; k++) {
		mpz_set(mpq_numref(x[k]), gt_system_at(system, k, n));
		mpz_set(mpq_denref(x[k]), gt_system_at(system, k, k));
		mpq_canonicalize(x[k]);
	}
	mpz_clear(before);
	return regular;
}
