#include "search/cluster/block_trees.h"

#include <stdlib.h>
#include <string.h>

#include <gmp.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/bareiss.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"

/* Rounds after which the best so far has to do. */
enum { GT_BLOCK_ROUNDS = 500 };

/* Trees that are cheaper by this part are worth adding. */
#define GT_BLOCK_SLACK 1e-9

/* Weights that do not fit a common denominator go to this grid. */
#define GT_BLOCK_DEN_MAX (INT64_C(1) << 36)
#define GT_BLOCK_GRID    (INT64_C(1) << 30)

/* Rows of links, then of each rank's home trees, then of away trees. */
struct gt_block_master {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	struct gt_block_trees *trees;
	struct gt_lp *lp; /* column 0 is x, then trees */
	uint32_t nrows;
	int32_t *entries;
	double *prices;
};

static uint32_t count_roots(const struct gt_block_master *m)
{
	return m->quotient->fabric->nranks + 1;
}

/* What a column has in a row. */
static int32_t master_entry(const struct gt_block_master *m, uint32_t column,
			    uint32_t row)
{
	uint32_t links = m->trees->rows.n, n = m->quotient->fabric->nranks;
	const struct gt_block_tree *tree;

	if (!column) {
		if (row < links)
			return 0;
		return row - links < n ? 1 : (int32_t)n;
	}
	tree = &m->trees->trees[column - 1];
	if (row < links)
		return tree->loads[row];
	return row - links == tree->root ? -1 : 0;
}

static void push_column(struct gt_block_master *m, uint32_t column)
{
	for (uint32_t r = 0; r < m->nrows; r++)
		m->entries[r] = master_entry(m, column, r);
	gt_lp_add(m->lp, column ? 0 : 1, m->entries);
}

static int master_init(struct gt_block_master *m, struct gt_err *err)
{
	const struct gt_quotient_rows *rows = &m->trees->rows;
	double *upper;

	m->nrows = rows->n + count_roots(m);
	m->entries = gt_arena_array(m->arena, m->nrows, sizeof(*m->entries));
	m->prices = gt_arena_array(m->arena, m->nrows, sizeof(*m->prices));
	upper = gt_arena_array(m->arena, m->nrows, sizeof(*upper));
	if (!m->entries || !m->prices || !upper)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < rows->n; i++)
		upper[i] = gt_rat_double(rows->gbs[i]) * rows->unit;
	m->lp = gt_lp_new(m->nrows, upper);
	if (!m->lp)
		return gt_err_nomem(err);
	push_column(m, 0);
	return GT_OK;
}

static int keep_tree(struct gt_block_master *m,
		     const struct gt_block_tree *tree)
{
	struct gt_block_trees *trees = m->trees;
	struct gt_block_tree *grown;
	uint32_t size;

	if (trees->ntrees == trees->size) {
		size = trees->size ? 2 * trees->size : 64;
		grown = gt_arena_array(m->arena, size, sizeof(*grown));
		if (!grown)
			return GT_ESYS;
		if (trees->ntrees)
			memcpy(grown, trees->trees,
			       trees->ntrees * sizeof(*grown));
		trees->trees = grown;
		trees->size = size;
	}
	trees->trees[trees->ntrees++] = *tree;
	push_column(m, trees->ntrees);
	return GT_OK;
}

/* Add a root's cheapest tree if it costs less than `limit`; 1: added. */
static int price_root(struct gt_block_master *m, uint32_t root, double limit)
{
	struct gt_block_tree tree = {.root = root};
	double cost = 0;
	int rc = gt_block_tree_cheapest(m->quotient, &m->trees->rows, m->prices,
					m->arena, &tree);

	if (rc)
		return rc;
	for (uint32_t r = 0; r < m->trees->rows.n; r++)
		cost += m->prices[r] * tree.loads[r];
	if (cost >= limit * (1 - GT_BLOCK_SLACK) - 1e-15)
		return 0;
	rc = keep_tree(m, &tree);
	return rc ? rc : 1;
}

/* First prices: what is narrow is dear. */
static int add_first_trees(struct gt_block_master *m, struct gt_err *err)
{
	int rc = 1;

	for (uint32_t r = 0; r < m->trees->rows.n; r++) {
		double gbs = gt_rat_double(m->trees->rows.gbs[r]);

		m->prices[r] = gbs > 0 ? 1 / gbs : 0;
	}
	for (uint32_t i = 0; i < count_roots(m) && rc > 0; i++)
		rc = price_root(m, i, 1e300);
	if (rc == GT_ENO)
		return gt_err_set(err, GT_ENO, NULL,
				  "the nodes have a GPU that no route leads "
				  "to");
	return rc < 0 ? gt_err_nomem(err) : GT_OK;
}

static int generate_trees(struct gt_block_master *m, struct gt_err *err)
{
	uint32_t links = m->trees->rows.n;
	int added, one = 0;
	double nranks = (double)m->quotient->cluster.nnodes *
			m->quotient->cluster.nlocal;

	do {
		if (gt_lp_solve(m->lp))
			return gt_err_set(err, GT_ESYS, NULL,
					  "the linear program of the node's "
					  "trees was not solved");
		for (uint32_t r = 0; r < m->nrows; r++) {
			double price = gt_lp_prices(m->lp)[r];

			m->prices[r] = price > 0 ? price : 0;
		}
		gt_budget_report(m->quotient->watch, "trees", m->trees->nrounds,
				 gt_lp_values(m->lp)[0] * nranks);
		if (gt_budget_is_spent(m->quotient->watch))
			break;
		added = 0;
		for (uint32_t i = 0; i < count_roots(m) && one >= 0; i++) {
			one = price_root(m, i, m->prices[links + i]);
			added += one > 0;
		}
	} while (one >= 0 && added && m->trees->nrounds++ < GT_BLOCK_ROUNDS);
	return one < 0 ? gt_err_nomem(err) : GT_OK;
}

/* The basis as equations: row by row, made whole. */
static int solve_basis(const struct gt_block_master *m, uint32_t size,
		       const uint32_t *columns, mpq_t *x)
{
	const struct gt_quotient_rows *rows = &m->trees->rows;
	struct gt_bareiss system;
	uint32_t i = 0;
	int rc = gt_bareiss_init(&system, size);

	for (uint32_t r = 0; !rc && r < m->nrows; r++) {
		struct gt_rat gbs = r < rows->n ? rows->gbs[r] : GT_RAT(0, 1);

		if (!gt_lp_binds(m->lp, r))
			continue;
		for (uint32_t j = 0; j < size; j++) {
			mpz_ptr at = gt_bareiss_at(&system, i, j);

			mpz_set_si(at, master_entry(m, columns[j], r));
			mpz_mul_si(at, at, gbs.den);
		}
		mpz_set_si(gt_bareiss_at(&system, i, size), gbs.num);
		mpz_mul_ui(gt_bareiss_at(&system, i, size),
			   gt_bareiss_at(&system, i, size), rows->unit);
		i++;
	}
	if (!rc && !gt_bareiss_solve(&system, x))
		rc = GT_ENO;
	gt_bareiss_release(&system);
	return rc;
}

/*
 * Weights of each root's trees as parts of `whole`: shares over their sum.
 * What rounding leaves over goes to the last.
 */
static void set_weights(struct gt_block_master *m, const mpq_t *share)
{
	struct gt_block_trees *trees = m->trees;
	mpq_t sum, part;
	mpz_t den;

	mpq_inits(sum, part, NULL);
	mpz_init_set_ui(den, 1);
	for (int pass = 0; pass < 2; pass++) {
		trees->denominator = mpz_cmp_si(den, GT_BLOCK_DEN_MAX) > 0
					     ? GT_BLOCK_GRID
					     : mpz_get_si(den);
		for (uint32_t root = 0; root < count_roots(m); root++) {
			struct gt_block_tree *last = NULL;
			int64_t left = trees->denominator;

			mpq_set_ui(sum, 0, 1);
			for (uint32_t t = 0; t < trees->ntrees; t++)
				if (trees->trees[t].root == root)
					mpq_add(sum, sum, share[t]);
			for (uint32_t t = 0; t < trees->ntrees; t++) {
				struct gt_block_tree *tree = &trees->trees[t];

				if (tree->root != root || !mpq_sgn(share[t]))
					continue;
				mpq_div(part, share[t], sum);
				if (!pass)
					mpz_lcm(den, den, mpq_denref(part));
				mpz_mul_si(mpq_numref(part), mpq_numref(part),
					   trees->denominator);
				mpz_fdiv_q(mpq_numref(part), mpq_numref(part),
					   mpq_denref(part));
				tree->weight = mpz_get_si(mpq_numref(part));
				left -= tree->weight;
				last = tree;
				mpz_set_ui(mpq_denref(part), 1);
			}
			if (last)
				last->weight += left;
		}
	}
	mpz_clear(den);
	mpq_clears(sum, part, NULL);
}

static int solve_exactly(struct gt_block_master *m, struct gt_err *err)
{
	uint32_t ncolumns = gt_lp_ncolumns(m->lp), size = 0, binding = 0;
	uint32_t *columns =
		gt_arena_array(m->arena, ncolumns, sizeof(*columns));
	mpq_t *x = gt_arena_array(m->arena, ncolumns, sizeof(*x));
	mpq_t *share = gt_arena_array(m->arena, ncolumns, sizeof(*share));
	int rc;

	if (!columns || !x || !share)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < ncolumns; i++) {
		mpq_inits(x[i], share[i], NULL);
		if (gt_lp_basic(m->lp, i))
			columns[size++] = i;
	}
	for (uint32_t r = 0; r < m->nrows; r++)
		binding += (uint32_t)gt_lp_binds(m->lp, r);
	rc = size && size == binding ? solve_basis(m, size, columns, x)
				     : GT_ENO;
	for (uint32_t i = 0; i < size && !rc; i++)
		if (columns[i] && mpq_sgn(x[i]) > 0)
			mpq_set(share[columns[i] - 1], x[i]);
	/* A basis that is none: the floats themselves have to do. */
	for (uint32_t i = 1; i < ncolumns && rc == GT_ENO; i++)
		if (gt_lp_values(m->lp)[i] > 0)
			mpq_set_d(share[i - 1], gt_lp_values(m->lp)[i]);
	if (rc != GT_ESYS)
		set_weights(m, share);
	for (uint32_t i = 0; i < ncolumns; i++)
		mpq_clears(x[i], share[i], NULL);
	return rc == GT_ESYS ? gt_err_nomem(err) : GT_OK;
}

int gt_block_trees_solve(const struct gt_quotient *q, enum gt_coll coll,
			 struct gt_arena *arena, struct gt_block_trees *trees,
			 struct gt_err *err)
{
	struct gt_block_master m = {
		.quotient = q, .arena = arena, .trees = trees};
	int rc;

	memset(trees, 0, sizeof(*trees));
	rc = gt_quotient_rows_init(q, coll, arena, &trees->rows, err);
	if (!rc)
		rc = master_init(&m, err);
	if (!rc)
		rc = add_first_trees(&m, err);
	if (!rc)
		rc = generate_trees(&m, err);
	if (!rc)
		rc = solve_exactly(&m, err);
	gt_lp_free(m.lp);
	return rc;
}

/* gbs * unit * whole / load */
int gt_block_trees_row_rate(const struct gt_quotient *q,
			    const struct gt_block_trees *trees, uint32_t row,
			    struct gt_rat *x)
{
	uint32_t n = q->fabric->nranks;
	struct gt_rat most;
	int64_t load = 0;

	for (uint32_t t = 0; t < trees->ntrees; t++) {
		const struct gt_block_tree *tree = &trees->trees[t];
		int64_t times = tree->root == n ? n : 1;

		if (__builtin_mul_overflow(times * tree->loads[row],
					   tree->weight, &times) ||
		    __builtin_add_overflow(load, times, &load))
			return -1;
	}
	if (!load)
		return 0;
	if (!gt_rat_make(trees->denominator, load, &most) ||
	    !gt_rat_mul(most, GT_RAT(trees->rows.unit, 1), &most) ||
	    !gt_rat_mul(most, trees->rows.gbs[row], x))
		return -1;
	return 1;
}

int gt_block_trees_rate(const struct gt_quotient *q,
			const struct gt_block_trees *trees, struct gt_rat *x)
{
	struct gt_rat at;
	int found = 0;

	for (uint32_t r = 0; r < trees->rows.n; r++) {
		int loaded = gt_block_trees_row_rate(q, trees, r, &at);

		if (loaded < 0)
			return 0;
		if (loaded && (!found || gt_rat_cmp(at, *x) < 0))
			*x = at;
		found |= loaded;
	}
	return found;
}
