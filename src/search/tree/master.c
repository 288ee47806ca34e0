/*
 * The forest's restricted master: first trees, column generation, and short
 * trees that do as well.
 */
#include "search/tree/master.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "search/graph/graph.h"
#include "search/lp/column_generation.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"

/*
 * Rounds after which the best so far has to do; greedy rounds before the
 * first.
 */
enum { GT_FOREST_ROUNDS = 500, GT_FOREST_GREEDY = 8 };

/* The tree in f->parent. */
static int gt_forest_add(struct gt_forest *f, uint32_t root)
{
	return gt_tree_pool_add(&f->trees, root, f->parent);
}

/*
 * The cheapest tree of the root; of several one with many ranks right below it.
 */
static int64_t gt_forest_cheapest(struct gt_forest *f, uint32_t root)
{
	uint32_t n = f->hops.n;
	int64_t sum = 0;

	if (f->trees.wants)
		return gt_forest_shortest(f, root);
	for (uint32_t i = 0; i < n * n; i++)
		f->mixed[i] = 16 * f->mixed[i] + (i / n != root);
	if (gt_arborescence(n, f->mixed, root, f->parent) < 0)
		return -1;
	for (uint32_t i = 0; i < n * n; i++)
		f->mixed[i] /= 16;
	for (uint32_t v = 0; v < n; v++)
		if (v != root)
			sum += f->mixed[f->parent[v] * n + v];
	return sum;
}

static int gt_forest_price(struct gt_forest *f, uint32_t root, int64_t limit)
{
	int added = 0, one;

	if (!f->trees.wants &&
	    gt_prim(f->hops.n, f->mixed, root, 0, f->parent) < limit)
		added = gt_forest_add(f, root);
	if (added < 0)
		return added;
	one = 0;
	if (gt_forest_cheapest(f, root) < limit)
		one = gt_forest_add(f, root);
	return one < 0 ? one : added + one;
}

/* Links that are fuller than others are dear, and steeply so. */
static void gt_forest_prices_by_load(struct gt_forest *f, double least)
{
	double most = 0, use;

	for (uint32_t i = 0; i < f->hops.nrows; i++) {
		use = f->load[i] / gt_forest_capacity(f, i);
		most = use > most ? use : most;
	}
	for (uint32_t i = 0; i < f->hops.nrows; i++) {
		double cap = gt_forest_capacity(f, i);

		use = most > 0 ? f->load[i] / cap / most : 0;
		use = use * use * use * use + 1e-3;
		f->prices[i] = (int64_t)(use * least / cap * 1e9);
	}
}

/* First trees: greedy, each around what those before have loaded. */
static int gt_forest_greedy(struct gt_forest *f)
{
	double least = HUGE_VAL;
	uint32_t nrows = f->hops.nrows;

	for (uint32_t i = 0; i < nrows; i++)
		if (gt_forest_capacity(f, i) < least)
			least = gt_forest_capacity(f, i);
	for (uint32_t k = 0; k < GT_FOREST_GREEDY * f->nstarts; k++) {
		uint32_t root = f->starts[k % f->nstarts];
		struct gt_pool_tree tree;

		gt_forest_prices_by_load(f, least);
		if (gt_forest_weigh(f) || gt_forest_cheapest(f, root) < 0 ||
		    gt_forest_add(f, root) < 0)
			return GT_ESYS;
		if (!f->trees.ntrees)
			return GT_OK;
		tree = gt_tree_pool_get(&f->trees, f->trees.ntrees - 1);
		for (uint32_t i = 0; i < nrows; i++)
			f->load[i] += tree.loads[i];
	}
	return GT_OK;
}

/* The plainest tree of each root, and greedy ones. */
int gt_forest_seed(struct gt_forest *f, struct gt_err *err)
{
	if (gt_forest_weigh(f))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->nstarts; i++) {
		if (f->trees.wants)
			gt_forest_shortest(f, f->starts[i]);
		else
			gt_prim(f->hops.n, f->mixed, f->starts[i], 1,
				f->parent);
		if (gt_forest_add(f, f->starts[i]) < 0)
			return gt_err_nomem(err);
	}
	if (f->trees.ntrees < f->nroots)
		return gt_err_set(err, GT_ENO, NULL,
				  "no tree joins all %u GPUs: there are no "
				  "routes for one",
				  f->hops.n);
	return gt_forest_greedy(f) ? gt_err_nomem(err) : GT_OK;
}

static void gt_forest_add_columns(void *arg)
{
	struct gt_forest *f = arg;
	uint32_t nrows = f->hops.nrows;

	while (gt_lp_ncolumns(f->lp) <= f->trees.ntrees) {
		uint32_t i = gt_lp_ncolumns(f->lp) - 1;

		memset(f->entries, 0,
		       (nrows + f->nroots) * sizeof(*f->entries));
		memcpy(f->entries, gt_tree_pool_get(&f->trees, i).loads,
		       nrows * sizeof(*f->entries));
		f->entries[nrows + gt_forest_root(f, i)] = -1;
		gt_lp_add(f->lp, 0, f->entries);
	}
}

static int gt_forest_is_enough(void *arg)
{
	const struct gt_forest *f = arg;
	double want = gt_rat_double(f->target) / f->nroots;

	return want > 0 && gt_lp_values(f->lp)[0] > want * (1 - 1e-12);
}

/* Prices of the program as it is solved, and costs under them. */
static int gt_forest_dual(struct gt_forest *f)
{
	gt_column_prices(f->lp, f->hops.nrows, f->prices);
	return gt_forest_weigh(f);
}

/* The worth of the i-th start's rate; trees that cost less would help. */
static int64_t gt_forest_worth(const struct gt_forest *f, uint32_t i)
{
	const double *duals = gt_lp_prices(f->lp);

	return (int64_t)(duals[f->hops.nrows + (f->nroots > 1 ? i : 0)] *
			 GT_COLUMN_ONE);
}

/* Trees reach so much of the result over the time. */
static double gt_forest_value(void *arg)
{
	const struct gt_forest *f = arg;
	const struct gt_plan_demand *demand = f->args->demand;
	double rate = gt_lp_values(f->lp)[0] * f->unit_gbs;

	if (demand)
		return rate * demand->most *
		       gt_rat_double(gt_demand_busiest(demand, f->hops.n, 1));
	return rate * f->nroots *
	       gt_coll_busbw_factor(f->args->coll, f->hops.n);
}

static int gt_forest_price_columns(void *arg, struct gt_err *err)
{
	struct gt_forest *f = arg;
	int added = 0, one;

	if (gt_forest_dual(f))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->nstarts; i++) {
		one = gt_forest_price(f, f->starts[i],
				      gt_forest_worth(f, i) - GT_COLUMN_SLACK);
		if (one < 0)
			return gt_err_nomem(err);
		added += one;
	}
	return added;
}

static struct gt_column_generation gt_forest_master(struct gt_forest *f,
						    uint32_t rounds)
{
	return (struct gt_column_generation){
		.lp = f->lp,
		.problem = "the forest",
		.columns = "trees",
		.max_rounds = rounds,
		.nrounds = &f->nrounds,
		.budget = f->args->budget,
		.arg = f,
		.add_columns = gt_forest_add_columns,
		.value = gt_forest_value,
		.is_enough = gt_forest_is_enough,
		.price = gt_forest_price_columns,
	};
}

int gt_forest_reach(struct gt_forest *f, uint32_t rounds, struct gt_err *err)
{
	const struct gt_column_generation cg = gt_forest_master(f, rounds);
	int rc = gt_column_generation_run(&cg, err);

	return rc || gt_forest_is_enough(f) ? rc : GT_ENO;
}

/* Steps from costs that hardly count to some that matter. */
int gt_forest_add_short(struct gt_forest *f, struct gt_err *err)
{
	const struct gt_column_generation cg = gt_forest_master(f, 0);

	if (gt_forest_dual(f))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->nstarts; i++)
		for (int64_t step = 1; step < GT_COLUMN_ONE; step <<= 10) {
			int64_t cost = gt_prim(f->hops.n, f->mixed,
					       f->starts[i], step, f->parent);

			if (cost <= gt_forest_worth(f, i) + GT_COLUMN_SLACK &&
			    gt_forest_add(f, f->starts[i]) < 0)
				return gt_err_nomem(err);
		}
	return gt_column_generation_solve(&cg, err);
}

int gt_forest_solve(struct gt_forest *f, struct gt_forest_shares *shares,
		    struct gt_err *err)
{
	int rc = gt_forest_seed(f, err);

	if (rc)
		return rc;
	rc = gt_forest_reach(f, GT_FOREST_ROUNDS, err);
	if (!rc || rc == GT_ENO)
		rc = gt_forest_shares(f, f->lp, NULL, shares, err);
	return rc;
}
