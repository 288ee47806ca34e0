/*
 * Templates of solved trees: cut side by side first, then the fewest that reach
 * the same rate, by a linear program over whole templates, and each divided
 * until channels are about as wide as each other.
 */
#include "search/cluster/block_templates.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "search/cluster/block_tree.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/quotient.h"
#include "search/cluster/regular_template.h"
#include "search/lp/exact_basis.h"
#include "search/lp/fewer_columns.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"

/* Channels that templates are divided into, where they are not more anyway. */
enum { GT_TEMPLATE_CHANNELS_LEAST = 8, GT_TEMPLATE_CHANNELS = 16 };

/* Of regular templates these many arrivals are tried at least. */
enum { GT_TEMPLATE_ARRIVALS = 16 };

/* Shares that do not fit a common denominator are not taken. */
#define GT_TEMPLATE_DEN_MAX (INT64_C(1) << 36)

struct gt_template_search {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	struct gt_block_trees *trees;
	struct gt_rat rate; /* to be reached */
	uint32_t n, size, ncut;
	struct gt_block_template *list; /* those that were cut come first */
	int32_t *loads;                 /* [template * rows + row] */
	struct gt_lp *lp;
};

static struct gt_block_template *push_template(struct gt_template_search *s)
{
	uint32_t nranks = s->quotient->fabric->nranks;
	struct gt_block_template *list = gt_vec_grow_in(s->arena, s->list, s->n,
							&s->size,
							sizeof(*list)),
				 *t;

	if (!list)
		return NULL;
	s->list = list;
	t = &list[s->n];
	t->home = gt_arena_array(s->arena, nranks, sizeof(*t->home));
	t->away = gt_arena_array(s->arena, nranks, sizeof(*t->away));
	t->weight = 0;
	t->parts = 1;
	if (!t->home || !t->away)
		return NULL;
	s->n++;
	return t;
}

/* ---- cut side by side --------------------------------------------------- */

/* A tree with the part of its weight that one root's blocks take. */
struct gt_tree_piece {
	uint32_t tree;
	int64_t weight;
};

/* What is left to hand out of one root's home trees and away trees. */
struct gt_tree_pieces {
	uint32_t nhome, naway;
	struct gt_tree_piece *home, *away;
};

/* The next template is as wide as the narrowest piece of any root; 0: none. */
static int64_t next_width(const struct gt_tree_pieces *pieces, uint32_t n)
{
	int64_t width = INT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_tree_pieces *p = &pieces[i];

		if (!p->nhome || !p->naway)
			return 0;
		if (p->home->weight < width)
			width = p->home->weight;
		if (p->away->weight < width)
			width = p->away->weight;
	}
	return width;
}

static void take_width(struct gt_tree_piece **piece, uint32_t *n, int64_t width)
{
	(*piece)->weight -= width;
	if ((*piece)->weight)
		return;
	(*piece)++;
	(*n)--;
}

/*
 * Which root's blocks use which away trees is free as long as all of both are
 * used up: first those that arrive at the root's own place, then any.  left[]
 * is what the trees have to give.
 */
static void hand_out_away(const struct gt_block_trees *trees, uint32_t n,
			  int64_t *left, struct gt_tree_pieces *pieces)
{
	for (uint32_t k = 0; k < 2 * n; k++) {
		uint32_t root = k % n;
		struct gt_tree_pieces *p = &pieces[root];
		int64_t lacks = trees->denominator;

		for (uint32_t i = 0; i < p->naway; i++)
			lacks -= p->away[i].weight;
		for (uint32_t t = 0; t < trees->ntrees && lacks; t++) {
			int64_t take = left[t] < lacks ? left[t] : lacks;

			if (!take ||
			    (k < n && trees->trees[t].parent[root] >= 0))
				continue;
			left[t] -= take;
			lacks -= take;
			p->away[p->naway++] = (struct gt_tree_piece){t, take};
		}
	}
}

/*
 * Room for every tree at home, and away for what each of two passes hands out.
 */
static struct gt_tree_pieces *new_pieces(const struct gt_template_search *s)
{
	uint32_t n = s->quotient->fabric->nranks, ntrees = s->trees->ntrees;
	struct gt_tree_pieces *pieces =
		gt_arena_array(s->arena, n, sizeof(*pieces));

	for (uint32_t i = 0; pieces && i < n; i++) {
		struct gt_tree_pieces *p = &pieces[i];

		p->home = gt_arena_array(s->arena, ntrees, sizeof(*p->home));
		p->away = gt_arena_array(s->arena, 2 * (size_t)ntrees,
					 sizeof(*p->away));
		if (!p->home || !p->away)
			return NULL;
	}
	return pieces;
}

/* The trees of all roots as pieces; an away tree is there for all n roots. */
static struct gt_tree_pieces *cut_trees(const struct gt_template_search *s)
{
	const struct gt_block_trees *trees = s->trees;
	uint32_t n = s->quotient->fabric->nranks;
	int64_t *left = gt_arena_array(s->arena, trees->ntrees, sizeof(*left));
	struct gt_tree_pieces *pieces = new_pieces(s);

	if (!left || !pieces)
		return NULL;
	for (uint32_t t = 0; t < trees->ntrees; t++) {
		const struct gt_block_tree *tree = &trees->trees[t];
		struct gt_tree_pieces *p = &pieces[tree->root % n];

		if (tree->root == n)
			left[t] = tree->weight * n;
		else if (tree->weight)
			p->home[p->nhome++] =
				(struct gt_tree_piece){t, tree->weight};
	}
	hand_out_away(trees, n, left, pieces);
	return pieces;
}

static int cut_templates(struct gt_template_search *s)
{
	uint32_t n = s->quotient->fabric->nranks;
	struct gt_tree_pieces *pieces = cut_trees(s);
	struct gt_block_template *t;
	int64_t width;

	if (!pieces)
		return GT_ESYS;
	while ((width = next_width(pieces, n))) {
		t = push_template(s);
		if (!t)
			return GT_ESYS;
		t->weight = width;
		for (uint32_t i = 0; i < n; i++) {
			t->home[i] = pieces[i].home->tree;
			t->away[i] = pieces[i].away->tree;
			take_width(&pieces[i].home, &pieces[i].nhome, width);
			take_width(&pieces[i].away, &pieces[i].naway, width);
		}
	}
	s->ncut = s->n;
	return GT_OK;
}

/* ---- regular ones ------------------------------------------------------- */

/* Add a template with so many arrivals; there may be none. */
static int add_regular(struct gt_template_search *s,
		       enum gt_regular_order order, uint32_t arrivals)
{
	uint32_t n = s->quotient->fabric->nranks;
	struct gt_block_template *t = push_template(s);
	struct gt_block_tree trees[2];
	int rc = t ? GT_OK : GT_ESYS;

	for (uint32_t root = 0; root < n && !rc; root++) {
		rc = gt_regular_trees(s->quotient, &s->trees->rows, order,
				      arrivals, root, s->arena, trees);
		if (!rc)
			rc = gt_block_trees_add(s->trees, &trees[0], s->arena,
						&t->home[root]);
		if (!rc)
			rc = gt_block_trees_add(s->trees, &trees[1], s->arena,
						&t->away[root]);
	}
	if (rc == GT_ENO)
		s->n--;
	return rc == GT_ESYS ? rc : GT_OK;
}

static int add_regular_ones(struct gt_template_search *s)
{
	uint32_t n = s->quotient->fabric->nranks;
	int rc = GT_OK;

	for (uint32_t k = 1; k <= n && !rc; k++)
		for (int order = 0; order < GT_NREGULAR && !rc; order++)
			if (k <= GT_TEMPLATE_ARRIVALS || k == n)
				rc = add_regular(
					s, (enum gt_regular_order)order, k);
	return rc;
}

/* ---- the fewest --------------------------------------------------------- */

/* What each template loads; GT_ENO when a number is too large. */
static int add_loads(struct gt_template_search *s)
{
	uint32_t n = s->quotient->fabric->nranks, m = s->trees->rows.n;

	s->loads =
		gt_arena_array(s->arena, (size_t)s->n * m, sizeof(*s->loads));
	if (!s->loads)
		return GT_ESYS;
	for (size_t i = 0; i < (size_t)s->n * m; i++) {
		const struct gt_block_template *t = &s->list[i / m];
		int64_t load = 0;

		for (uint32_t k = 0; k < n; k++)
			load += (int64_t)s->trees->trees[t->home[k]]
					.loads[i % m] +
				s->trees->trees[t->away[k]].loads[i % m];
		if (load > INT32_MAX)
			return GT_ENO;
		s->loads[i] = (int32_t)load;
	}
	return GT_OK;
}

/*
 * In floats capacities count for all ranks together, as a block's rate would be
 * lost among rounding errors where there are many.
 */
static double scale(const struct gt_template_search *s)
{
	return (double)s->quotient->cluster.nnodes *
	       s->quotient->fabric->nranks;
}

static int add_columns(struct gt_template_search *s)
{
	const struct gt_quotient_rows *rows = &s->trees->rows;
	double *upper = gt_arena_array(s->arena, rows->n, sizeof(*upper));

	if (!upper)
		return GT_ESYS;
	for (uint32_t r = 0; r < rows->n; r++)
		upper[r] = gt_rat_double(rows->gbs[r]) * rows->unit * scale(s);
	s->lp = gt_lp_new(rows->n, upper);
	if (!s->lp)
		return GT_ESYS;
	for (uint32_t t = 0; t < s->n; t++)
		gt_lp_add(s->lp, 1, s->loads + (size_t)t * rows->n);
	return GT_OK;
}

/*
 * Leave out the templates that were cut, all at once if that is possible, and
 * then whichever the others make up for.
 */
static int leave_out(struct gt_template_search *s)
{
	double rate = gt_rat_double(s->rate) * scale(s);

	gt_lp_do_without(s->lp, 0, s->ncut - 1, rate);
	return gt_lp_fewer_columns(s->lp, rate);
}

static int32_t template_entry(const void *arg, uint32_t row, uint32_t column)
{
	const struct gt_template_search *s = arg;

	return s->loads[(size_t)column * s->trees->rows.n + row];
}

static int64_t template_upper(const void *arg, uint32_t row, mpz_ptr upper)
{
	const struct gt_template_search *s = arg;
	struct gt_rat gbs = s->trees->rows.gbs[row];

	mpz_set_si(upper, gbs.num);
	mpz_mul_ui(upper, upper, s->trees->rows.unit);
	return gbs.den;
}

static int template_gain(const void *arg, uint32_t column)
{
	(void)arg;
	(void)column;
	return 1;
}

/*
 * The shares of the basis over their sum as parts of a common denominator;
 * GT_ENO when that is too large.
 */
static int set_shares(struct gt_template_search *s, struct gt_basis *basis,
		      int64_t *denominator)
{
	mpq_t sum, part;
	mpz_t den;
	int rc;

	mpq_inits(sum, part, NULL);
	mpz_init_set_ui(den, 1);
	for (uint32_t t = 0; t < s->n; t++)
		s->list[t].weight = 0;
	for (uint32_t i = 0; i < basis->size; i++)
		mpq_add(sum, sum, basis->x[i]);
	for (uint32_t i = 0; i < basis->size && mpq_sgn(sum); i++) {
		mpq_div(part, basis->x[i], sum);
		mpz_lcm(den, den, mpq_denref(part));
	}
	rc = mpq_sgn(sum) && mpz_cmp_si(den, GT_TEMPLATE_DEN_MAX) <= 0 ? GT_OK
								       : GT_ENO;
	*denominator = rc ? 1 : mpz_get_si(den);
	for (uint32_t i = 0; i < basis->size && !rc; i++) {
		mpq_div(part, basis->x[i], sum);
		mpz_mul(mpq_numref(part), mpq_numref(part), den);
		mpz_divexact(mpq_numref(part), mpq_numref(part),
			     mpq_denref(part));
		s->list[basis->columns[i]].weight =
			mpz_get_si(mpq_numref(part));
	}
	mpz_clear(den);
	mpq_clears(sum, part, NULL);
	return rc;
}

/* The rate that the weights reach; 0 when it needs more than 64 bits. */
static int rate_of(const struct gt_template_search *s, int64_t denominator,
		   struct gt_rat *rate)
{
	const struct gt_quotient_rows *rows = &s->trees->rows;
	struct gt_rat at;
	int found = 0;

	for (uint32_t r = 0; r < rows->n; r++) {
		int64_t load = 0, one;

		for (uint32_t t = 0; t < s->n; t++)
			if (__builtin_mul_overflow(template_entry(s, r, t),
						   s->list[t].weight, &one) ||
			    __builtin_add_overflow(load, one, &load))
				return 0;
		if (!load)
			continue;
		if (!gt_rat_make(denominator, load, &at) ||
		    !gt_rat_mul(at, GT_RAT(rows->unit, 1), &at) ||
		    !gt_rat_mul(at, rows->gbs[r], &at))
			return 0;
		if (!found || gt_rat_cmp(at, *rate) < 0)
			*rate = at;
		found = 1;
	}
	return found;
}

/*
 * The exact shares of the templates that are left, and what they reach; GT_ENO
 * when that is less.
 */
static int solve_exactly(struct gt_template_search *s, int64_t *denominator)
{
	const struct gt_basis_program program = {
		.arg = s,
		.nrows = s->trees->rows.n,
		.nlinks = s->trees->rows.n,
		.entry = template_entry,
		.upper = template_upper,
		.gain = template_gain,
	};
	struct gt_basis basis;
	struct gt_rat rate;
	int rc = gt_basis_init(&basis, &program, s->lp);

	if (!rc)
		rc = gt_basis_shares(&basis);
	if (!rc)
		rc = set_shares(s, &basis, denominator);
	gt_basis_release(&basis);
	if (!rc &&
	    (!rate_of(s, *denominator, &rate) || gt_rat_cmp(rate, s->rate) < 0))
		rc = GT_ENO;
	return rc;
}

/*
 * Fewer templates of the same rate.  GT_ENO: there are none, and weights are
 * not what they were.
 */
static int find_fewer(struct gt_template_search *s, int64_t *denominator)
{
	uint32_t used = 0;
	int rc = add_loads(s);

	if (!rc)
		rc = add_columns(s);
	if (!rc)
		rc = leave_out(s);
	if (!rc)
		rc = solve_exactly(s, denominator);
	for (uint32_t t = 0; t < s->n && !rc; t++)
		used += s->list[t].weight > 0;
	return rc || used <= s->ncut ? rc : GT_ENO;
}

/* ---- channels ----------------------------------------------------------- */

/*
 * Divide the widest ones until there are as many channels as cuts, within
 * limits: each begins at another block, and all have as many
 * workers, so equal ones keep ports and workers evenly busy.
 */
static void divide(struct gt_block_templates *templates, uint32_t channels)
{
	for (uint32_t used = templates->n; used < channels; used++) {
		struct gt_block_template *widest = templates->list;

		for (uint32_t t = 1; t < templates->n; t++) {
			struct gt_block_template *at = &templates->list[t];

			if ((double)at->weight / at->parts >
			    (double)widest->weight / widest->parts)
				widest = at;
		}
		widest->parts++;
	}
}

/*
 * Do the parts' shares, rates and the sums of both fit 64 bits?  Rates are
 * halved for an all-reduce.
 */
static int parts_fit(const struct gt_template_search *s,
		     const struct gt_block_templates *templates)
{
	struct gt_rat share, gbs, shares = GT_RAT(0, 1), sum = GT_RAT(0, 1);
	int64_t ranks = (int64_t)s->quotient->cluster.nnodes *
			s->quotient->fabric->nranks;

	for (uint32_t t = 0; t < templates->n; t++) {
		const struct gt_block_template *at = &templates->list[t];

		if (!gt_rat_make(at->weight, templates->denominator, &share) ||
		    !gt_rat_div(share, GT_RAT(2 * at->parts, 1), &share) ||
		    !gt_rat_mul(templates->rate, GT_RAT(ranks, 1), &gbs) ||
		    !gt_rat_mul(share, gbs, &gbs))
			return 0;
		for (uint32_t k = 0; k < at->parts; k++)
			if (!gt_rat_add(shares, share, &shares) ||
			    !gt_rat_add(sum, gbs, &sum))
				return 0;
	}
	return 1;
}

static uint32_t count_channels(const struct gt_template_search *s)
{
	if (s->ncut > GT_TEMPLATE_CHANNELS)
		return GT_TEMPLATE_CHANNELS;
	return s->ncut > 1 && s->ncut < GT_TEMPLATE_CHANNELS_LEAST
		       ? GT_TEMPLATE_CHANNELS_LEAST
		       : s->ncut;
}

static int take_used(struct gt_template_search *s,
		     struct gt_block_templates *templates)
{
	templates->n = 0;
	templates->list =
		gt_arena_array(s->arena, s->n, sizeof(*templates->list));
	if (!templates->list)
		return GT_ESYS;
	for (uint32_t t = 0; t < s->n; t++)
		if (s->list[t].weight)
			templates->list[templates->n++] = s->list[t];
	return GT_OK;
}

int gt_block_templates_find(const struct gt_quotient *q,
			    struct gt_block_trees *trees,
			    struct gt_arena *arena,
			    struct gt_block_templates *templates,
			    struct gt_err *err)
{
	struct gt_template_search s = {
		.quotient = q, .arena = arena, .trees = trees};
	int64_t *cut;
	int rc;

	if (!gt_block_trees_rate(q, trees, &s.rate))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the rates need more than 64 bits");
	*templates =
		(struct gt_block_templates){.trees = trees,
					    .denominator = trees->denominator,
					    .rate = s.rate};
	rc = cut_templates(&s);
	cut = gt_arena_array(arena, s.n, sizeof(*cut));
	if (!cut)
		rc = GT_ESYS;
	for (uint32_t t = 0; t < s.n && !rc; t++)
		cut[t] = s.list[t].weight;
	if (!rc)
		rc = add_regular_ones(&s);
	if (!rc)
		rc = find_fewer(&s, &templates->denominator);
	gt_lp_free(s.lp);
	if (rc == GT_ENO) {
		for (uint32_t t = 0; t < s.n; t++)
			s.list[t].weight = t < s.ncut ? cut[t] : 0;
		templates->denominator = trees->denominator;
	}
	if (rc != GT_ESYS)
		rc = take_used(&s, templates);
	if (rc)
		return gt_err_nomem(err);
	divide(templates, count_channels(&s));
	for (uint32_t t = 0; t < templates->n && !parts_fit(&s, templates); t++)
		templates->list[t].parts = 1;
	if (!parts_fit(&s, templates))
		return gt_err_set(err, GT_ENO, NULL,
				  "the shares of templates need more than 64 "
				  "bits");
	return GT_OK;
}
