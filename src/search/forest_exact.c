#include "search/forest_exact.h"

#include <stdlib.h>

#include <gmp.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/arcs.h"
#include "search/bareiss.h"
#include "search/forest.h"
#include "search/lp.h"
#include "search/shape.h"
#include "search/trees.h"

/* Denominators that sums of products with rates still leave in 64 bits. */
#define GT_EXACT_DEN_MAX (INT64_C(1) << 40)

/* What a 64-bit numerator may be, for the same reason. */
#define GT_EXACT_NUM_MAX (INT64_C(1) << 52)

/* The basis: `size` columns and as many rows. */
struct gt_square {
	const struct gt_forest *forest;
	const struct gt_rat *fixed;
	uint32_t size;
	uint32_t *columns, *rows;
	mpq_t *x; /* solution of a system */
};

static void gt_square_release(struct gt_square *square)
{
	for (uint32_t i = 0; square->x && i < square->size; i++)
		mpq_clear(square->x[i]);
	free(square->x);
	free(square->columns);
	free(square->rows);
}

/* GT_ENO when there are not as many columns as rows. */
static int gt_square_init(struct gt_square *square, const struct gt_lp *lp)
{
	const struct gt_forest *f = square->forest;
	uint32_t ncolumns = gt_lp_ncolumns(lp), nbasic = 0, nbinding = 0;
	uint32_t nrows = f->arcs.nrows + f->nroots;

	square->columns = malloc(ncolumns * sizeof(*square->columns));
	square->rows = malloc(nrows * sizeof(*square->rows));
	if (!square->columns || !square->rows)
		return GT_ESYS;
	for (uint32_t i = 0; i < ncolumns; i++)
		if (gt_lp_basic(lp, i))
			square->columns[nbasic++] = i;
	for (uint32_t i = 0; i < nrows; i++)
		if (gt_lp_binds(lp, i))
			square->rows[nbinding++] = i;
	if (!nbasic || nbasic != nbinding)
		return GT_ENO;
	square->x = malloc(nbasic * sizeof(*square->x));
	if (!square->x)
		return GT_ESYS;
	square->size = nbasic;
	for (uint32_t i = 0; i < nbasic; i++)
		mpq_init(square->x[i]);
	return GT_OK;
}

/* Column 0 is the rate of a root, the others are trees. */
static int32_t gt_square_entry(const struct gt_square *square, uint32_t row,
			       uint32_t column)
{
	const struct gt_forest *f = square->forest;

	if (!column)
		return row >= f->arcs.nrows;
	if (row < f->arcs.nrows)
		return gt_trees_get(&f->trees, column - 1).loads[row];
	return -(gt_forest_root(f, column - 1) == row - f->arcs.nrows);
}

/* The right side of a row, times its denominator; returns that. */
static int64_t gt_square_right(const struct gt_square *square, uint32_t row,
			       mpz_ptr right)
{
	const struct gt_forest *f = square->forest;
	struct gt_rat gbs;

	mpz_set_ui(right, 0);
	if (row < f->arcs.nrows) {
		gbs = f->arcs.rows[row].gbs;
		mpz_set_si(right, gbs.num);
		mpz_mul_ui(right, right, f->arcs.unit);
		return gbs.den;
	}
	if (!square->fixed)
		return 1;
	mpz_set_si(right, -square->fixed->num);
	return square->fixed->den * f->nroots;
}

static int gt_square_solve(struct gt_square *square, int prices)
{
	uint32_t n = square->size;
	struct gt_system system;
	int rc = gt_system_init(&system, n);

	for (uint32_t i = 0; !rc && i < n; i++) {
		mpz_ptr right = gt_system_at(&system, i, n);
		int64_t den = 1;

		if (prices)
			mpz_set_ui(right, !square->columns[i]);
		else
			den = gt_square_right(square, square->rows[i], right);
		for (uint32_t j = 0; j < n; j++) {
			mpz_ptr at = gt_system_at(&system, i, j);

			mpz_set_si(at,
				   gt_square_entry(
					   square, square->rows[prices ? j : i],
					   square->columns[prices ? i : j]));
			mpz_mul_si(at, at, den);
		}
	}
	if (!rc && !gt_system_solve(&system, square->x))
		rc = GT_ENO;
	gt_system_release(&system);
	for (uint32_t i = 0; !rc && i < n; i++)
		if (mpq_sgn(square->x[i]) < 0)
			mpq_set_ui(square->x[i], 0, 1);
	return rc;
}

/* The fullest link's load over its capacity, 1 or more, into *most. */
static void gt_square_most(const struct gt_square *square, mpq_ptr most)
{
	const struct gt_arcs *arcs = &square->forest->arcs;
	mpq_t use, part;

	mpq_inits(use, part, NULL);
	mpq_set_ui(most, 1, 1);
	for (uint32_t row = 0; row < arcs->nrows; row++) {
		mpq_set_ui(use, 0, 1);
		for (uint32_t i = 0; i < square->size; i++) {
			int32_t load = gt_square_entry(square, row,
						       square->columns[i]);

			if (!load || !square->columns[i])
				continue;
			mpq_set_si(part, load, 1);
			mpq_mul(part, part, square->x[i]);
			mpq_add(use, use, part);
		}
		mpq_set_si(part, arcs->rows[row].gbs.num, 1);
		mpz_mul_ui(mpq_numref(part), mpq_numref(part), arcs->unit);
		mpz_set_si(mpq_denref(part), arcs->rows[row].gbs.den);
		mpq_canonicalize(part);
		mpq_div(use, use, part);
		if (mpq_cmp(use, most) > 0)
			mpq_set(most, use);
	}
	mpq_clears(use, part, NULL);
}

/* The least common denominator, or a grid when that is too fine. */
static int64_t gt_square_common(const struct gt_square *square)
{
	int64_t common;
	mpz_t den;

	mpz_init_set_ui(den, 1);
	for (uint32_t i = 0; i < square->size; i++)
		mpz_lcm(den, den, mpq_denref(square->x[i]));
	if (mpz_cmp_si(den, GT_EXACT_DEN_MAX) > 0)
		mpz_set_si(den, GT_EXACT_DEN_MAX);
	common = mpz_get_si(den);
	mpz_clear(den);
	return common;
}

/* x * den rounded down (up: 1), or -1 when it is too large. */
static int64_t gt_square_num(mpq_srcptr x, int64_t den, int up)
{
	int64_t num;
	mpz_t n;

	mpz_init(n);
	mpz_mul_si(n, mpq_numref(x), den);
	if (up)
		mpz_cdiv_q(n, n, mpq_denref(x));
	else
		mpz_fdiv_q(n, n, mpq_denref(x));
	num = mpz_cmp_si(n, GT_EXACT_NUM_MAX) > 0 ? -1 : mpz_get_si(n);
	mpz_clear(n);
	return num;
}

/* What the trees of one root come to. */
static int64_t gt_shares_root(const struct gt_forest *f,
			      const struct gt_forest_shares *shares,
			      uint32_t root)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < shares->ntrees; i++)
		if (gt_forest_root(f, shares->trees[i]) == root)
			sum += shares->nums[i];
	return sum;
}

/* Take from the trees of a root what it has beyond `want`. */
static void gt_shares_trim(const struct gt_forest *f,
			   struct gt_forest_shares *shares, uint32_t root,
			   int64_t want)
{
	int64_t over = gt_shares_root(f, shares, root) - want, take;

	for (uint32_t i = shares->ntrees; i-- > 0 && over > 0;) {
		if (gt_forest_root(f, shares->trees[i]) != root)
			continue;
		take = over < shares->nums[i] ? over : shares->nums[i];
		shares->nums[i] -= take;
		over -= take;
	}
}

/* Every root gets what the poorest has; trees without share go. */
static int gt_shares_level(const struct gt_forest *f,
			   struct gt_forest_shares *shares)
{
	int64_t least = INT64_MAX;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->nroots; i++) {
		int64_t sum = gt_shares_root(f, shares, i);

		least = sum < least ? sum : least;
	}
	for (uint32_t i = 0; i < f->nroots; i++)
		gt_shares_trim(f, shares, i, least);
	for (uint32_t i = 0; i < shares->ntrees; i++) {
		if (!shares->nums[i])
			continue;
		shares->trees[kept] = shares->trees[i];
		shares->nums[kept++] = shares->nums[i];
	}
	shares->ntrees = kept;
	return least > 0 && gt_rat_make(least, shares->den, &shares->value) &&
	       gt_rat_mul(shares->value, GT_RAT(f->nroots, 1), &shares->value);
}

static int gt_square_shares(struct gt_square *square,
			    struct gt_forest_shares *shares)
{
	struct gt_arena *arena = square->forest->args->arena;
	uint32_t n = square->size;
	mpq_t most;

	shares->trees = gt_arena_array(arena, n, sizeof(*shares->trees));
	shares->nums = gt_arena_array(arena, n, sizeof(*shares->nums));
	if (!shares->trees || !shares->nums)
		return GT_ESYS;
	mpq_init(most);
	gt_square_most(square, most);
	for (uint32_t i = 0; i < n; i++)
		mpq_div(square->x[i], square->x[i], most);
	mpq_clear(most);
	shares->den = gt_square_common(square);
	shares->ntrees = 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t num = gt_square_num(square->x[i], shares->den, 0);

		if (num < 0)
			return GT_ENO;
		if (!square->columns[i])
			continue;
		shares->trees[shares->ntrees] = square->columns[i] - 1;
		shares->nums[shares->ntrees++] = num;
	}
	return gt_shares_level(square->forest, shares) ? GT_OK : GT_ENO;
}

int gt_forest_shares(const struct gt_forest *forest, const struct gt_lp *lp,
		     const struct gt_rat *fixed,
		     struct gt_forest_shares *shares, struct gt_err *err)
{
	struct gt_square square = {.forest = forest, .fixed = fixed};
	struct gt_forest_shares made = {0};
	int rc = gt_square_init(&square, lp);

	if (!rc)
		rc = gt_square_solve(&square, 0);
	if (!rc)
		rc = gt_square_shares(&square, &made);
	if (!rc && fixed && gt_rat_cmp(made.value, *fixed) < 0)
		rc = GT_ENO;
	gt_square_release(&square);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (!rc)
		*shares = made;
	return rc;
}

int gt_forest_prices(const struct gt_forest *forest, const struct gt_lp *lp,
		     int64_t *prices, struct gt_err *err)
{
	struct gt_square square = {.forest = forest};
	int rc = gt_square_init(&square, lp);
	int64_t den;

	if (!rc)
		rc = gt_square_solve(&square, 1);
	for (uint32_t i = 0; i < forest->arcs.nrows; i++)
		prices[i] = 0;
	den = rc ? 1 : gt_square_common(&square);
	for (uint32_t i = 0; !rc && i < square.size; i++) {
		int64_t num = gt_square_num(square.x[i], den, 1);

		if (num < 0)
			rc = GT_ENO;
		else if (square.rows[i] < forest->arcs.nrows)
			prices[square.rows[i]] = num;
	}
	gt_square_release(&square);
	return rc == GT_ESYS ? gt_err_nomem(err) : rc;
}
