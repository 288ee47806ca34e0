/* A dive in units for forests whose basis has numbers beyond 64 bits. */
#include "search/tree/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/*
 * Rounds of pricing a step; steps that are taken back at most.  The reference
 * machines' dives that reach an end take none back.
 */
enum { GT_ROUND_PRICING = 50, GT_ROUND_BACK = 2 };

/* More units than floats tell apart are not tried. */
#define GT_ROUND_UNITS_MAX (INT64_C(1) << 24)

/* A float this close to a whole number is one. */
#define GT_ROUND_EPS 1e-6

#define GT_ROUND_NONE UINT32_MAX

struct gt_round {
	struct gt_forest *f;
	struct gt_rat value, unit;
	int64_t *left; /* row -> units of it that no tree keeps */
	int64_t *kept; /* tree -> units */
	uint32_t size;
	struct gt_forest_shares *made;
};

/* The largest rational that both are multiples of; 0: beyond 64 bits. */
static int gt_round_gcd(struct gt_rat a, struct gt_rat b, struct gt_rat *gcd)
{
	struct gt_rat rest, times;

	while (b.num) {
		if (!gt_rat_div(a, b, &times) ||
		    !gt_rat_mul(b, GT_RAT(times.num / times.den, 1), &rest) ||
		    !gt_rat_sub(a, rest, &rest))
			return 0;
		a = b;
		b = rest;
	}
	*gcd = a;
	return 1;
}

/* A row's capacity in the unit of loads. */
static int gt_round_capacity(const struct gt_forest *f, uint32_t row,
			     struct gt_rat *gbs)
{
	return gt_rat_mul(f->hops.rows[row].gbs, GT_RAT(f->hops.unit, 1), gbs);
}

/*
 * The largest unit that divides a root's rate and all capacities, so that no
 * part of them goes to waste.
 */
static int gt_round_unit(const struct gt_forest *f, struct gt_rat rate,
			 struct gt_rat *unit)
{
	struct gt_rat gbs;

	*unit = rate;
	for (uint32_t i = 0; i < f->hops.nrows; i++)
		if (!gt_round_capacity(f, i, &gbs) ||
		    !gt_round_gcd(gbs, *unit, unit))
			return 0;
	return unit->num > 0;
}

/* The rate in units; 0 when they are too many. */
static int64_t gt_round_units(struct gt_rat gbs, struct gt_rat unit)
{
	struct gt_rat units;

	if (!gt_rat_div(gbs, unit, &units) || units.num > GT_ROUND_UNITS_MAX)
		return 0;
	return units.num;
}

/* The program in units, without trees; NULL: no memory, or too many units. */
static struct gt_lp *gt_round_program(struct gt_round *r, int64_t want)
{
	const struct gt_forest *f = r->f;
	uint32_t nrows = f->hops.nrows;
	double *upper = calloc((size_t)nrows + f->nroots, sizeof(*upper));
	struct gt_lp *lp = NULL;
	struct gt_rat gbs;
	int ok = upper != NULL;

	for (uint32_t i = 0; ok && i < nrows; i++) {
		ok = gt_round_capacity(f, i, &gbs);
		r->left[i] = ok ? gt_round_units(gbs, r->unit) : 0;
		ok &= r->left[i] > 0;
		upper[i] = (double)r->left[i];
	}
	if (ok)
		lp = gt_lp_new(nrows + f->nroots, upper);
	free(upper);
	memset(f->entries, 0, (nrows + f->nroots) * sizeof(*f->entries));
	for (uint32_t i = 0; i < f->nroots; i++)
		f->entries[nrows + i] = 1;
	if (lp) {
		gt_lp_add(lp, 1, f->entries);
		gt_lp_set_bounds(lp, 0, 0, (double)want);
	}
	return lp;
}

/* Make room for trees that have joined. */
static int gt_round_grow(struct gt_round *r)
{
	uint32_t n = r->f->trees.ntrees, size = 2 * n + 64;
	int64_t *kept;

	if (n <= r->size)
		return 1;
	kept = realloc(r->kept, size * sizeof(*kept));
	if (!kept)
		return 0;
	memset(kept + r->size, 0, (size - r->size) * sizeof(*kept));
	r->kept = kept;
	r->size = size;
	return 1;
}

/* Would one more unit of the tree fit? */
static int gt_round_room(const struct gt_round *r, uint32_t tree)
{
	const int32_t *loads = gt_tree_pool_get(&r->f->trees, tree).loads;

	for (uint32_t i = 0; i < r->f->hops.nrows; i++)
		if (loads[i] > r->left[i])
			return 0;
	return 1;
}

/*
 * Keep whole units; returns the tree with the largest fraction that has room
 * for one more.
 */
static uint32_t gt_round_keep(struct gt_round *r)
{
	const struct gt_forest *f = r->f;
	const double *values = gt_lp_values(f->lp) + 1;
	uint32_t n = gt_lp_ncolumns(f->lp) - 1, most = GT_ROUND_NONE;
	double best = GT_ROUND_EPS;

	for (uint32_t t = 0; t < n; t++) {
		const int32_t *loads = gt_tree_pool_get(&f->trees, t).loads;
		double whole = floor(values[t] + GT_ROUND_EPS);
		int64_t more = (int64_t)whole - r->kept[t];

		if (more <= 0)
			continue;
		r->kept[t] += more;
		for (uint32_t i = 0; i < f->hops.nrows; i++)
			r->left[i] -= more * loads[i];
		gt_lp_raise_lower(f->lp, t + 1, whole);
	}
	for (uint32_t t = 0; t < n; t++) {
		double rest = values[t] - (double)r->kept[t];

		if (rest > best && gt_round_room(r, t)) {
			best = rest;
			most = t;
		}
	}
	return most;
}

/* Give the tree one unit more than it keeps, or no more than it keeps. */
static void gt_round_force(struct gt_round *r, uint32_t tree, int more)
{
	double kept = (double)r->kept[tree];

	gt_lp_set_bounds(r->f->lp, tree + 1, kept + more,
			 more ? HUGE_VAL : kept);
}

static int gt_round_dive(struct gt_round *r, struct gt_err *err)
{
	struct gt_forest_given given = {.value = r->value, .unit = r->unit};
	uint32_t forced = GT_ROUND_NONE, back = 0;
	int rc;

	for (;;) {
		rc = gt_forest_reach(r->f, GT_ROUND_PRICING, err);
		if (!gt_round_grow(r))
			return gt_err_nomem(err);
		if (rc == GT_ENO && forced != GT_ROUND_NONE &&
		    back++ < GT_ROUND_BACK) {
			gt_round_force(r, forced, 0);
			forced = GT_ROUND_NONE;
			continue;
		}
		if (rc || gt_budget_is_spent(r->f->args->budget))
			return rc ? rc : GT_ENO;
		forced = gt_round_keep(r);
		given.units = r->kept;
		rc = gt_forest_shares(r->f, r->f->lp, &given, r->made, err);
		if (rc != GT_ENO || forced == GT_ROUND_NONE)
			return rc;
		gt_round_force(r, forced, 1);
	}
}

static int gt_round_try(struct gt_round *r, int64_t want, struct gt_err *err)
{
	struct gt_forest *f = r->f;
	struct gt_lp *before = f->lp;
	struct gt_rat target = f->target;
	int rc;

	r->left = calloc((size_t)f->hops.nrows + 1, sizeof(*r->left));
	if (!r->left)
		return gt_err_nomem(err);
	f->lp = gt_round_program(r, want);
	f->target = GT_RAT(want * f->nroots, 1);
	f->unit_gbs = gt_rat_double(r->unit);
	rc = f->lp ? gt_round_dive(r, err) : GT_ENO;
	gt_lp_free(f->lp);
	free(r->left);
	free(r->kept);
	f->lp = before;
	f->target = target;
	f->unit_gbs = 1;
	return rc;
}

int gt_forest_round(struct gt_forest *f, struct gt_rat value,
		    struct gt_forest_shares *shares, struct gt_err *err)
{
	struct gt_forest_shares made;
	struct gt_round r = {.f = f, .value = value, .made = &made};
	struct gt_rat rate;
	int64_t want;
	int rc;

	if (gt_lp_nbasic(f->lp) > GT_FOREST_BASIS ||
	    gt_lp_values(f->lp)[0] * f->nroots <
		    gt_rat_double(value) * (1 - GT_ROUND_EPS) ||
	    !gt_rat_div(value, GT_RAT(f->nroots, 1), &rate) ||
	    !gt_round_unit(f, rate, &r.unit))
		return GT_OK;
	want = gt_round_units(rate, r.unit);
	rc = want ? gt_round_try(&r, want, err) : GT_ENO;
	if (!rc)
		*shares = made;
	return rc == GT_ENO ? GT_OK : rc;
}
