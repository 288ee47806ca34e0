/*
 * The forest's program as rows and columns for an exact basis, and its solution
 * as shares that are equal for all roots.
 */
#include "search/tree/exact.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/shape.h"
#include "search/tree/forest.h"

/* Denominators that sums of products with rates still leave in 64 bits. */
#define GT_SHARES_DEN_MAX (INT64_C(1) << 40)

/* The program of a forest, for the functions that give its rows and columns. */
struct gt_forest_program {
	const struct gt_forest *forest;
	const struct gt_lp *lp;
	const struct gt_forest_given *given; /* or NULL */
};

/* The units of a tree that is not in the basis: it has no more than these. */
static int64_t gt_program_units(const struct gt_forest_program *program,
				uint32_t tree)
{
	if (!program->given || !program->given->units ||
	    gt_lp_basic(program->lp, tree + 1))
		return 0;
	return program->given->units[tree];
}

/* Column 0 is the rate of a root, the others are trees. */
static int32_t gt_program_entry(const void *arg, uint32_t row, uint32_t column)
{
	const struct gt_forest_program *program = arg;
	const struct gt_forest *f = program->forest;

	if (!column)
		return row >= f->hops.nrows;
	if (row < f->hops.nrows)
		return gt_tree_pool_get(&f->trees, column - 1).loads[row];
	return -(gt_forest_root(f, column - 1) == row - f->hops.nrows);
}

/* right / den less what trees outside the basis have there already. */
static int64_t gt_program_rest(const struct gt_forest_program *program,
			       uint32_t row, int64_t den, mpz_ptr right)
{
	struct gt_rat unit;
	mpz_t part;

	if (!program->given || !program->given->units)
		return den;
	unit = program->given->unit;
	mpz_init(part);
	mpz_mul_si(right, right, unit.den);
	for (uint32_t t = 0; t + 1 < gt_lp_ncolumns(program->lp); t++) {
		int64_t units = gt_program_units(program, t);

		if (!units)
			continue;
		mpz_set_si(part, units);
		mpz_mul_si(part, part, gt_program_entry(program, row, t + 1));
		mpz_mul_si(part, part, unit.num);
		mpz_mul_si(part, part, den);
		mpz_sub(right, right, part);
	}
	mpz_clear(part);
	return den * unit.den;
}

static int64_t gt_program_upper(const void *arg, uint32_t row, mpz_ptr right)
{
	const struct gt_forest_program *program = arg;
	const struct gt_forest *f = program->forest;
	int64_t den = 1;

	mpz_set_ui(right, 0);
	if (row < f->hops.nrows) {
		struct gt_rat gbs = f->hops.rows[row].gbs;

		mpz_set_si(right, gbs.num);
		mpz_mul_ui(right, right, f->hops.unit);
		den = gbs.den;
	} else if (program->given && !gt_lp_basic(program->lp, 0)) {
		mpz_set_si(right, -program->given->value.num);
		den = program->given->value.den * f->nroots;
	}
	return gt_program_rest(program, row, den, right);
}

/* Only column 0, the rate, is gained. */
static int gt_program_gain(const void *arg, uint32_t column)
{
	(void)arg;
	return !column;
}

static struct gt_basis_program gt_program_of(
	const struct gt_forest_program *program)
{
	const struct gt_forest *f = program->forest;

	return (struct gt_basis_program){
		.arg = program,
		.nrows = f->hops.nrows + f->nroots,
		.nlinks = f->hops.nrows,
		.entry = gt_program_entry,
		.upper = gt_program_upper,
		.gain = gt_program_gain,
		.budget = f->args->budget,
	};
}

/* The sum of the shares of one root's trees. */
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

/* Take away from the trees of a root the share that it has beyond `want`. */
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

/* Trees outside the basis, that have what they were given; 0: too fine. */
static int gt_shares_given(const struct gt_forest_program *program,
			   struct gt_forest_shares *shares)
{
	for (uint32_t t = 0; t + 1 < gt_lp_ncolumns(program->lp); t++) {
		int64_t units = gt_program_units(program, t);
		struct gt_rat share;

		if (!units)
			continue;
		if (!gt_rat_mul(program->given->unit, GT_RAT(units, 1),
				&share) ||
		    shares->den % share.den ||
		    __builtin_mul_overflow(shares->den / share.den, share.num,
					   &shares->nums[shares->ntrees]))
			return 0;
		shares->trees[shares->ntrees++] = t;
	}
	return 1;
}

/*
 * The common denominator of x and of the units that trees were given; x is
 * rounded down when it needs more than 64 bits.
 */
static int64_t gt_shares_den(const struct gt_forest_program *program,
			     const struct gt_basis *basis)
{
	int64_t den = gt_basis_denominator(basis), unit;
	struct gt_rat ratio;

	if (!program->given || !program->given->units)
		return den;
	unit = program->given->unit.den;
	if (gt_rat_make(unit, den, &ratio) &&
	    den <= GT_SHARES_DEN_MAX / ratio.num)
		return den * ratio.num;
	return GT_SHARES_DEN_MAX / unit * unit;
}

static int gt_shares_take(const struct gt_forest_program *program,
			  struct gt_basis *basis,
			  struct gt_forest_shares *shares)
{
	const struct gt_forest *f = program->forest;
	uint32_t n = gt_lp_ncolumns(program->lp);
	int rc;

	shares->trees =
		gt_arena_array(f->args->arena, n, sizeof(*shares->trees));
	shares->nums = gt_arena_array(f->args->arena, n, sizeof(*shares->nums));
	if (!shares->trees || !shares->nums)
		return GT_ESYS;
	rc = gt_basis_shares(basis);
	if (rc)
		return rc;
	shares->den = gt_shares_den(program, basis);
	shares->ntrees = 0;
	for (uint32_t i = 0; i < basis->size; i++) {
		int64_t num = gt_basis_numerator(basis, i, shares->den, 0);

		if (num < 0)
			return GT_ENO;
		if (!basis->columns[i])
			continue;
		shares->trees[shares->ntrees] = basis->columns[i] - 1;
		shares->nums[shares->ntrees++] = num;
	}
	if (!gt_shares_given(program, shares))
		return GT_ENO;
	return gt_shares_level(f, shares) ? GT_OK : GT_ENO;
}

int gt_forest_shares(const struct gt_forest *forest, const struct gt_lp *lp,
		     const struct gt_forest_given *given,
		     struct gt_forest_shares *shares, struct gt_err *err)
{
	const struct gt_forest_program program = {forest, lp, given};
	const struct gt_basis_program of = gt_program_of(&program);
	struct gt_forest_shares made = {0};
	struct gt_basis basis;
	int rc = gt_basis_init(&basis, &of, lp);

	if (!rc)
		rc = gt_shares_take(&program, &basis, &made);
	if (!rc && given && gt_rat_cmp(made.value, given->value) < 0)
		rc = GT_ENO;
	gt_basis_release(&basis);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (!rc)
		*shares = made;
	return rc;
}

int gt_forest_prices(const struct gt_forest *forest, const struct gt_lp *lp,
		     int64_t *prices, struct gt_err *err)
{
	const struct gt_forest_program program = {forest, lp, NULL};
	const struct gt_basis_program of = gt_program_of(&program);
	int rc = gt_basis_link_prices(&of, lp, prices);

	return rc == GT_ESYS ? gt_err_nomem(err) : rc;
}
