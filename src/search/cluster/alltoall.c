/*
 * The search for an all-to-all: column generation over sets of paths,
 * channels and certificate of the result, and fewer channels if these do as
 * well.
 */
#include "search/cluster/alltoall.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall_master.h"
#include "search/cluster/quotient.h"
#include "search/flow/assignment.h"
#include "search/graph/graph.h"
#include "search/lp/column_generation.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"

enum { GT_ALLTOALL_ROUNDS = 500 };

/* The price of the dearest row, while floats lead the search. */
#define GT_ALLTOALL_PRICE_ONE (INT64_C(1) << 34)

/* ---- columns ----------------------------------------------------------- */

static int column_loads(const struct gt_alltoall_master *m,
			struct gt_alltoall_column *column)
{
	uint32_t nodes = m->a2a->nodes[column->root / m->n];

	for (uint32_t to = 0; to < m->n; to++) {
		const struct gt_alltoall_path *path = column->paths[to];

		for (uint32_t k = 0; path && k < path->nloads; k++) {
			int32_t *load = &column->loads[path->loads[k].row];
			int32_t units;

			if (__builtin_mul_overflow(path->loads[k].units, nodes,
						   &units) ||
			    __builtin_add_overflow(*load, units, load))
				return GT_EINPUT;
		}
	}
	return GT_OK;
}

static int column_make(struct gt_alltoall_master *m, uint32_t root,
		       struct gt_alltoall_column *column)
{
	struct gt_arena *arena = m->a2a->arena;
	int rc;

	column->root = root;
	column->paths = gt_arena_array(arena, m->n, sizeof(*column->paths));
	column->loads =
		gt_arena_array(arena, m->a2a->rows.n, sizeof(*column->loads));
	if (!column->paths || !column->loads)
		return GT_ESYS;
	if (m->relaxed)
		return gt_alltoall_lengths_loads(&m->lengths, root / m->n,
						 root % m->n, column->loads);
	rc = gt_alltoall_lengths_paths(&m->lengths, root / m->n, root % m->n,
				       column->paths);
	return rc ? rc : column_loads(m, column);
}

static int keep_column(struct gt_alltoall_master *m,
		       const struct gt_alltoall_column *column)
{
	struct gt_alltoall_column *list =
		gt_vec_grow_in(m->a2a->arena, m->columns, m->ncolumns, &m->size,
			       sizeof(*list));

	if (!list)
		return GT_ESYS;
	m->columns = list;
	list[m->ncolumns++] = *column;
	gt_alltoall_master_push(m, m->ncolumns);
	return GT_OK;
}

/* Add the root's column if it is shorter than `limit`; 1 if it was added. */
static int price_root(struct gt_alltoall_master *m, uint32_t root, double limit)
{
	struct gt_alltoall_column column;
	double length = 0;
	int rc = column_make(m, root, &column);

	if (rc)
		return rc;
	for (uint32_t r = 0; r < m->a2a->rows.n; r++)
		length += m->prices[r] * column.loads[r];
	if (!gt_column_helps(length, limit))
		return 0;
	rc = keep_column(m, &column);
	return rc ? rc : 1;
}

/*
 * Add columns that are shorter than their root's price, or all when they are
 * the first; the number of those that were added.
 */
static int price_roots(struct gt_alltoall_master *m, int first)
{
	uint32_t links = m->a2a->rows.n;
	double most = 0;
	int added = 0;

	for (uint32_t r = 0; r < links; r++)
		most = m->prices[r] > most ? m->prices[r] : most;
	for (uint32_t r = 0; r < links; r++)
		m->lengths.price[r] =
			most > 0 ? (int64_t)(m->prices[r] / most *
					     (double)GT_ALLTOALL_PRICE_ONE /
					     m->a2a->rows.unit)
				 : 0;
	gt_alltoall_lengths_set(&m->lengths);
	for (uint32_t i = 0; i < m->nroots; i++) {
		int one = 0;

		if (gt_alltoall_has_root(m, i))
			one = price_root(m, i,
					 first ? 1e300 : m->prices[links + i]);
		if (one < 0)
			return one;
		added += one;
	}
	return added;
}

static int explain_failure(int rc, struct gt_err *err)
{
	if (rc == GT_ENO)
		return gt_err_set(err, GT_ENO, NULL,
				  "the nodes have a GPU that no route leads "
				  "to");
	if (rc == GT_EINPUT)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "there are too many nodes for flows");
	return gt_err_nomem(err);
}

static double master_value(void *arg)
{
	const struct gt_alltoall_master *m = arg;

	return gt_lp_values(m->lp)[0] *
	       gt_coll_busbw_factor(GT_COLL_ALLTOALL, (uint64_t)m->nranks);
}

static int price_columns(void *arg, struct gt_err *err)
{
	struct gt_alltoall_master *m = arg;
	int added;

	gt_column_duals(m->lp, m->a2a->rows.n + m->nroots, m->prices);
	added = price_roots(m, 0);
	return added < 0 ? explain_failure(added, err) : added;
}

/*
 * First columns under prices that make narrow rows dear, then column
 * generation.
 */
static int generate_columns(struct gt_alltoall_master *m, struct gt_err *err)
{
	const struct gt_column_generation cg = {
		.lp = m->lp,
		.problem = "the node's ways",
		.columns = "flows",
		.max_rounds = GT_ALLTOALL_ROUNDS,
		.nrounds = &m->nrounds,
		.budget = m->a2a->quotient->budget,
		.arg = m,
		.value = master_value,
		.price = price_columns,
	};
	int added;

	gt_quotient_rows_first_prices(&m->a2a->rows, m->prices);
	added = price_roots(m, 1);
	if (added <= 0)
		return added < 0 ? explain_failure(added, err) : GT_OK;
	return gt_column_generation_run(&cg, err);
}

/* Try a few equal channels, which do as well in most clusters. */
static int reduce_channels(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall_known_paths known = {0};

	known.paths = gt_arena_array(m->a2a->arena, (size_t)m->ncolumns * m->n,
				     sizeof(*known.paths));
	if (!known.paths)
		return gt_err_nomem(err);
	for (uint32_t b = 0; b < m->ncolumns; b++)
		for (uint32_t to = 0; to < m->n; to++)
			if (m->columns[b].paths[to])
				known.paths[known.n++] =
					m->columns[b].paths[to];
	m->lengths.relaxed = 0;
	gt_alltoall_lengths_set(&m->lengths);
	return gt_alltoall_assign(m->a2a, &m->lengths, &known)
		       ? gt_err_nomem(err)
		       : GT_OK;
}

/* ---- the whole search -------------------------------------------------- */

static int rows_init(struct gt_alltoall *a2a, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = &a2a->quotient->cluster;
	uint32_t nlinks = a2a->quotient->fabric->nlinks;
	/* Bytes only go in one direction, as those of an all-gather. */
	int rc = gt_quotient_rows_init(a2a->quotient, GT_COLL_ALLGATHER,
				       a2a->arena, &a2a->rows, err);

	a2a->nclasses = cluster->nlevels + 1;
	a2a->nodes =
		gt_arena_array(a2a->arena, a2a->nclasses, sizeof(*a2a->nodes));
	if (rc || !a2a->nodes)
		return rc ? rc : gt_err_nomem(err);
	for (uint32_t c = 0; c < a2a->nclasses; c++)
		a2a->nodes[c] = gt_nodes_in_class(cluster, c);
	for (uint32_t r = nlinks; r < a2a->rows.n; r++) {
		uint32_t level = (r - nlinks) / 2 / cluster->nrails;

		if (!gt_rat_div(a2a->rows.gbs[r],
				GT_RAT(cluster->levels[level].nodes, 1),
				&a2a->rows.gbs[r]))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "the rates need more than 64 bits");
	}
	return GT_OK;
}

/*
 * Lower the bound to that of paths over any nodes, by a program of its own.
 * This is for channels that do not reach the bound of paths that cross once.
 */
static int bound_any_path(const struct gt_alltoall_master *once,
			  struct gt_err *err)
{
	struct gt_alltoall *a2a = once->a2a;
	struct gt_alltoall all = *a2a;
	struct gt_alltoall_master m = {.a2a = &all,
				       .n = once->n,
				       .nranks = once->nranks,
				       .nroots = once->nroots,
				       .relaxed = 1};
	int rc = gt_alltoall_master_init(&m, err);

	if (!rc)
		rc = generate_columns(&m, err);
	if (!rc)
		rc = gt_alltoall_certify(&m, err);
	gt_lp_free(m.lp);
	if (rc || !all.has_bound ||
	    (a2a->has_bound && gt_rat_cmp(all.bound, a2a->bound) >= 0))
		return rc;
	a2a->has_bound = 1;
	a2a->bound = all.bound;
	a2a->prices = all.prices;
	a2a->nprices = all.nprices;
	return GT_OK;
}

int gt_alltoall_solve(const struct gt_quotient *q, struct gt_arena *arena,
		      struct gt_alltoall *a2a, struct gt_err *err)
{
	struct gt_alltoall_master m = {
		.a2a = a2a,
		.n = q->fabric->nranks,
		.nranks = (int64_t)q->fabric->nranks * q->cluster.nnodes,
		.nroots = (q->cluster.nlevels + 1) * q->fabric->nranks};
	int rc;

	*a2a = (struct gt_alltoall){.quotient = q, .arena = arena};
	if (2 * m.n > GT_SHORTEST_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "nodes of %u GPUs are too many for flows; "
				  "name up to %d with --gpus",
				  m.n, GT_SHORTEST_MAX / 2);
	rc = rows_init(a2a, err);
	if (!rc)
		rc = gt_alltoall_master_init(&m, err);
	if (!rc)
		rc = generate_columns(&m, err);
	if (!rc)
		rc = gt_alltoall_decompose(&m, err);
	if (!rc)
		rc = gt_alltoall_certify(&m, err);
	if (!rc)
		rc = reduce_channels(&m, err);
	if (!rc && (!a2a->has_bound || gt_rat_cmp(a2a->rate, a2a->bound)))
		rc = bound_any_path(&m, err);
	gt_lp_free(m.lp);
	return rc;
}
