/*
 * The best trees of a node's blocks: column generation on the master program of
 * block_trees.h, then exact weights from its last basis.
 */
#include "search/cluster/block_trees.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "search/cluster/quotient.h"
#include "search/lp/column_generation.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"

/* After so many rounds of pricing the best so far is the result. */
enum { GT_BLOCK_ROUNDS = 500 };

/* Weights that do not fit a common denominator go to this grid. */
#define GT_BLOCK_DEN_MAX (INT64_C(1) << 36)
#define GT_BLOCK_GRID    (INT64_C(1) << 30)

/*
 * Its rows are those of links, one for each rank's home trees, one for away
 * trees.
 */
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

/* The coefficient of a column in a row; column 0 is x. */
static int32_t master_entry(const void *arg, uint32_t row, uint32_t column)
{
	const struct gt_block_master *m = arg;
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

/* Rows of links are limited by their capacity, the others by 0. */
static int64_t master_upper(const void *arg, uint32_t row, mpz_ptr upper)
{
	const struct gt_block_master *m = arg;
	const struct gt_quotient_rows *rows = &m->trees->rows;
	struct gt_rat gbs = row < rows->n ? rows->gbs[row] : GT_RAT(0, 1);

	mpz_set_si(upper, gbs.num);
	mpz_mul_ui(upper, upper, rows->unit);
	return gbs.den;
}

static int master_gain(const void *arg, uint32_t column)
{
	(void)arg;
	return !column;
}

static void push_column(struct gt_block_master *m, uint32_t column)
{
	for (uint32_t r = 0; r < m->nrows; r++)
		m->entries[r] = master_entry(m, r, column);
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

/*
 * Add a root's cheapest tree if it costs less than `limit`; 1 if it was added.
 */
static int price_root(struct gt_block_master *m, uint32_t root, double limit)
{
	struct gt_block_tree tree = {.root = root};
	uint32_t number;
	double cost = 0;
	int rc = gt_block_tree_cheapest(m->quotient, &m->trees->rows, m->prices,
					m->arena, &tree);

	if (rc)
		return rc;
	for (uint32_t r = 0; r < m->trees->rows.n; r++)
		cost += m->prices[r] * tree.loads[r];
	if (!gt_column_helps(cost, limit))
		return 0;
	rc = gt_block_trees_add(m->trees, &tree, m->arena, &number);
	if (rc)
		return rc;
	push_column(m, m->trees->ntrees);
	return 1;
}

static int add_first_trees(struct gt_block_master *m, struct gt_err *err)
{
	int rc = 1;

	gt_quotient_rows_first_prices(&m->trees->rows, m->prices);
	for (uint32_t i = 0; i < count_roots(m) && rc > 0; i++)
		rc = price_root(m, i, 1e300);
	if (rc == GT_ENO)
		return gt_err_set(err, GT_ENO, NULL,
				  "the nodes have a GPU that no route leads "
				  "to");
	return rc < 0 ? gt_err_nomem(err) : GT_OK;
}

/*
 * A rank gets so much of each other one's block, once in an all-gather; twice
 * in an all-reduce, which takes half the time for what is there.
 */
static double master_value(void *arg)
{
	const struct gt_block_master *m = arg;
	double n = (double)m->quotient->cluster.nnodes *
		   m->quotient->cluster.nlocal;

	return gt_lp_values(m->lp)[0] * (n - 1);
}

static int price_roots(void *arg, struct gt_err *err)
{
	struct gt_block_master *m = arg;
	int added = 0, one;

	gt_column_duals(m->lp, m->nrows, m->prices);
	for (uint32_t i = 0; i < count_roots(m); i++) {
		one = price_root(m, i, m->prices[m->trees->rows.n + i]);
		if (one < 0)
			return gt_err_nomem(err);
		added += one;
	}
	return added;
}

static int generate_trees(struct gt_block_master *m, struct gt_err *err)
{
	const struct gt_column_generation cg = {
		.lp = m->lp,
		.problem = "the node's trees",
		.columns = "trees",
		.max_rounds = GT_BLOCK_ROUNDS,
		.nrounds = &m->trees->nrounds,
		.budget = m->quotient->budget,
		.arg = m,
		.value = master_value,
		.price = price_roots,
	};

	return gt_column_generation_run(&cg, err);
}

/* ---- exact weights ------------------------------------------------------ */

/*
 * Each tree's exact share, from the program's last basis; GT_ENO without one.
 */
static int exact_shares(const struct gt_block_master *m, mpq_t *share)
{
	const struct gt_basis_program program = {
		.arg = m,
		.nrows = m->nrows,
		.nlinks = m->trees->rows.n,
		.entry = master_entry,
		.upper = master_upper,
		.gain = master_gain,
	};
	struct gt_basis basis;
	int rc = gt_basis_init(&basis, &program, m->lp);

	if (!rc)
		rc = gt_basis_shares(&basis);
	for (uint32_t i = 0; i < basis.size && !rc; i++)
		if (basis.columns[i])
			mpq_set(share[basis.columns[i] - 1], basis.x[i]);
	gt_basis_release(&basis);
	return rc;
}

/*
 * Weights of the root's trees: their shares over their sum, as parts of the
 * denominator.  What rounding leaves over goes to the last.  `den` becomes a
 * multiple of what these parts' own denominators are.
 */
static void set_root_weights(struct gt_block_trees *trees, uint32_t root,
			     const mpq_t *share, mpz_ptr den)
{
	struct gt_block_tree *last = NULL;
	int64_t left = trees->denominator;
	mpq_t sum, part;

	mpq_inits(sum, part, NULL);
	for (uint32_t t = 0; t < trees->ntrees; t++)
		if (trees->trees[t].root == root)
			mpq_add(sum, sum, share[t]);
	for (uint32_t t = 0; t < trees->ntrees; t++) {
		struct gt_block_tree *tree = &trees->trees[t];

		if (tree->root != root || !mpq_sgn(share[t]))
			continue;
		mpq_div(part, share[t], sum);
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
	mpq_clears(sum, part, NULL);
}

/* The first pass finds the denominator, the second the weights. */
static void set_weights(struct gt_block_master *m, const mpq_t *share)
{
	struct gt_block_trees *trees = m->trees;
	mpz_t den;

	mpz_init_set_ui(den, 1);
	for (int pass = 0; pass < 2; pass++) {
		trees->denominator = mpz_cmp_si(den, GT_BLOCK_DEN_MAX) > 0
					     ? GT_BLOCK_GRID
					     : mpz_get_si(den);
		for (uint32_t root = 0; root < count_roots(m); root++)
			set_root_weights(trees, root, share, den);
	}
	mpz_clear(den);
}

static int solve_exactly(struct gt_block_master *m, struct gt_err *err)
{
	uint32_t ntrees = m->trees->ntrees;
	mpq_t *share = gt_arena_array(m->arena, ntrees, sizeof(*share));
	int rc;

	if (!share)
		return gt_err_nomem(err);
	for (uint32_t t = 0; t < ntrees; t++)
		mpq_init(share[t]);
	rc = exact_shares(m, share);
	/* Without a basis the floats themselves have to do. */
	for (uint32_t t = 0; t < ntrees && rc == GT_ENO; t++)
		if (gt_lp_values(m->lp)[t + 1] > 0)
			mpq_set_d(share[t], gt_lp_values(m->lp)[t + 1]);
	if (rc != GT_ESYS)
		set_weights(m, share);
	for (uint32_t t = 0; t < ntrees; t++)
		mpq_clear(share[t]);
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

int gt_block_trees_add(struct gt_block_trees *trees,
		       const struct gt_block_tree *tree, struct gt_arena *arena,
		       uint32_t *number)
{
	struct gt_block_tree *list =
		gt_vec_grow_in(arena, trees->trees, trees->ntrees, &trees->size,
			       sizeof(*list));

	if (!list)
		return GT_ESYS;
	trees->trees = list;
	*number = trees->ntrees;
	list[trees->ntrees++] = *tree;
	return GT_OK;
}

/* The rate is gbs * unit * denominator / load. */
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
