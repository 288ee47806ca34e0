#include "search/ring_exact.h"

#include <stdlib.h>

#include <gmp.h>

#include "base/err.h"
#include "search/bareiss.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"

/* Denominators that sums of products with rates still leave in 64 bits. */
#define GT_EXACT_DEN_MAX (INT64_C(1) << 40)

/* What a 64-bit numerator may be, for the same reason. */
#define GT_EXACT_NUM_MAX (INT64_C(1) << 52)

/* The basis: `size` rings and as many rows. */
struct gt_square {
	const struct gt_ring_pool *pool;
	uint32_t size;
	uint32_t *rings, *rows;
	mpq_t *x; /* solution of a system, then 64-bit fractions of it */
};

static void gt_square_release(struct gt_square *square)
{
	for (uint32_t i = 0; square->x && i < square->size; i++)
		mpq_clear(square->x[i]);
	free(square->x);
	free(square->rings);
	free(square->rows);
}

/* GT_ENO when there are not as many rings as rows. */
static int gt_square_init(struct gt_square *square,
			  const struct gt_ring_pool *pool,
			  const struct gt_ring_basis *basis)
{
	uint32_t nrows = pool->rows->nrows, nrings = 0, binding = 0;

	square->pool = pool;
	square->rings = malloc((pool->nrings + 1) * sizeof(*square->rings));
	square->rows = malloc((nrows + 1) * sizeof(*square->rows));
	if (!square->rings || !square->rows)
		return GT_ESYS;
	for (uint32_t i = 0; i < pool->nrings; i++)
		if (basis->rings[i])
			square->rings[nrings++] = i;
	for (uint32_t i = 0; i < nrows; i++)
		if (basis->rows[i])
			square->rows[binding++] = i;
	if (!nrings || nrings != binding)
		return GT_ENO;
	square->x = malloc(nrings * sizeof(*square->x));
	if (!square->x)
		return GT_ESYS;
	square->size = nrings;
	for (uint32_t i = 0; i < nrings; i++)
		mpq_init(square->x[i]);
	return GT_OK;
}

static uint32_t gt_square_load(const struct gt_square *square, uint32_t ring,
			       uint32_t row)
{
	return gt_ring_pool_loads(square->pool,
				  square->rings[ring])[square->rows[row]];
}

/*
 * Prices: sum over rows of load * y = 1 for each ring.  Shares: sum over
 * rings of load * x = unit * capacity for each row, made whole row by row.
 */
static int gt_square_solve(struct gt_square *square, int prices)
{
	const struct gt_ring_rows *rows = square->pool->rows;
	uint32_t n = square->size;
	struct gt_system system;
	int rc = gt_system_init(&system, n);

	for (uint32_t i = 0; !rc && i < n; i++) {
		struct gt_rat gbs = rows->rows[square->rows[i]].gbs;

		for (uint32_t j = 0; j < n; j++) {
			mpz_ptr at = gt_system_at(&system, i, j);

			if (prices) {
				mpz_set_ui(at, gt_square_load(square, i, j));
				continue;
			}
			mpz_set_ui(at, gt_square_load(square, j, i));
			mpz_mul_si(at, at, gbs.den);
		}
		mpz_set_si(gt_system_at(&system, i, n), prices ? 1 : gbs.num);
		if (!prices)
			mpz_mul_ui(gt_system_at(&system, i, n),
				   gt_system_at(&system, i, n), rows->unit);
	}
	if (!rc && !gt_system_solve(&system, square->x))
		rc = GT_ENO;
	gt_system_release(&system);
	for (uint32_t i = 0; !rc && i < n; i++)
		if (mpq_sgn(square->x[i]) < 0)
			mpq_set_ui(square->x[i], 0, 1);
	return rc;
}

/*
 * All of x over one denominator: the exact one if it is small, else a grid.
 * x becomes the numerators, rounded as `round` does.
 */
static int64_t gt_square_common(struct gt_square *square,
				void (*round)(mpz_ptr, mpz_srcptr, mpz_srcptr))
{
	mpz_t den;
	int64_t common;

	mpz_init_set_ui(den, 1);
	for (uint32_t i = 0; i < square->size; i++)
		mpz_lcm(den, den, mpq_denref(square->x[i]));
	if (mpz_cmp_si(den, GT_EXACT_DEN_MAX) > 0)
		mpz_set_si(den, GT_EXACT_DEN_MAX);
	common = mpz_get_si(den);
	for (uint32_t i = 0; i < square->size; i++) {
		mpz_ptr num = mpq_numref(square->x[i]);

		mpz_mul(num, num, den);
		round(num, num, mpq_denref(square->x[i]));
		mpz_set_ui(mpq_denref(square->x[i]), 1);
	}
	mpz_clear(den);
	return common;
}

static int gt_square_prices(struct gt_square *square,
			    struct gt_ring_exact *exact)
{
	int rc = gt_square_solve(square, 1);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < square->pool->rows->nrows; i++)
		exact->prices[i] = 0;
	exact->price_den = gt_square_common(square, mpz_cdiv_q);
	for (uint32_t i = 0; i < square->size; i++) {
		mpz_srcptr num = mpq_numref(square->x[i]);

		if (mpz_cmp_si(num, GT_EXACT_NUM_MAX) > 0)
			return GT_ENO;
		exact->prices[square->rows[i]] = mpz_get_si(num);
	}
	return GT_OK;
}

/* The row's load over its capacity, less than 1 where it fits. */
static void gt_square_use(const struct gt_square *square, uint32_t row,
			  mpq_ptr use)
{
	const struct gt_ring_rows *rows = square->pool->rows;
	struct gt_rat gbs = rows->rows[row].gbs;
	mpq_t part;

	mpq_init(part);
	mpq_set_ui(use, 0, 1);
	for (uint32_t i = 0; i < square->size; i++) {
		mpq_set_ui(
			part,
			gt_ring_pool_loads(square->pool, square->rings[i])[row],
			1);
		mpq_mul(part, part, square->x[i]);
		mpq_add(use, use, part);
	}
	mpq_set_si(part, gbs.num, 1);
	mpz_mul_ui(mpq_numref(part), mpq_numref(part), rows->unit);
	mpz_set_si(mpq_denref(part), gbs.den);
	mpq_canonicalize(part);
	if (mpq_sgn(part))
		mpq_div(use, use, part);
	mpq_clear(part);
}

/* Take all shares down by what the fullest link is over its capacity. */
static void gt_square_fit(struct gt_square *square)
{
	mpq_t use, most;

	mpq_inits(use, most, NULL);
	mpq_set_ui(most, 1, 1);
	for (uint32_t r = 0; r < square->pool->rows->nrows; r++) {
		gt_square_use(square, r, use);
		if (mpq_cmp(use, most) > 0)
			mpq_set(most, use);
	}
	for (uint32_t i = 0; i < square->size; i++)
		mpq_div(square->x[i], square->x[i], most);
	mpq_clears(use, most, NULL);
}

static int gt_square_shares(struct gt_square *square,
			    struct gt_ring_exact *exact)
{
	int rc = gt_square_solve(square, 0);
	int64_t den, sum = 0;

	if (rc)
		return rc;
	gt_square_fit(square);
	for (uint32_t i = 0; i < square->pool->nrings; i++)
		exact->shares[i] = GT_RAT(0, 1);
	den = gt_square_common(square, mpz_fdiv_q);
	for (uint32_t i = 0; i < square->size; i++) {
		mpz_srcptr num = mpq_numref(square->x[i]);

		if (mpz_cmp_si(num, GT_EXACT_NUM_MAX) > 0)
			return GT_ENO;
		sum += mpz_get_si(num);
		gt_rat_make(mpz_get_si(num), den,
			    &exact->shares[square->rings[i]]);
	}
	gt_rat_make(sum, den, &exact->value);
	return sum > 0 ? GT_OK : GT_ENO;
}

int gt_ring_exact_solve(const struct gt_ring_pool *pool,
			const struct gt_ring_basis *basis,
			struct gt_ring_exact *exact, struct gt_err *err)
{
	struct gt_square square = {0};
	int rc = gt_square_init(&square, pool, basis);

	if (!rc)
		rc = gt_square_prices(&square, exact);
	if (!rc)
		rc = gt_square_shares(&square, exact);
	gt_square_release(&square);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	return rc;
}
