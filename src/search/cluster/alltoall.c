#include "search/cluster/alltoall.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/lp/exact_basis.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/alltoall_lp.h"
#include "search/lp/lp.h"
#include "search/graph/shortest_path.h"
#include "search/problem/budget.h"

enum { GT_HIER_FLOW_ROUNDS = 500 };

/* Bunches that are shorter by this part are worth adding. */
#define GT_HIER_FLOW_SLACK 1e-9

/* The longest price, while floats lead the way. */
#define GT_HIER_FLOW_ONE (INT64_C(1) << 34)

/* ---- the program ------------------------------------------------------- */

int gt_alltoall_has_root(const struct gt_alltoall_master *m, uint32_t root)
{
	uint32_t class_ = root / m->n;

	return class_ ? m->flow->nodes[class_] > 0 : m->n > 1;
}

static int32_t gt_hier_flow_entry(const void *arg, uint32_t row,
				  uint32_t column)
{
	const struct gt_alltoall_master *m = arg;
	uint32_t links = m->flow->rows.n;

	if (!column)
		return row >= links && gt_alltoall_has_root(m, row - links);
	if (row < links)
		return m->bunches[column - 1].loads[row];
	return -(m->bunches[column - 1].root == row - links);
}

static int64_t gt_hier_flow_upper(const void *arg, uint32_t row, mpz_ptr upper)
{
	const struct gt_alltoall_master *m = arg;
	struct gt_rat gbs = GT_RAT(0, 1);

	if (row < m->flow->rows.n)
		gbs = m->flow->rows.gbs[row];
	mpz_set_si(upper, gbs.num);
	mpz_mul_ui(upper, upper, m->flow->rows.unit);
	mpz_mul_si(upper, upper, m->nranks);
	return gbs.den;
}

static int gt_hier_flow_gain(const void *arg, uint32_t column)
{
	(void)arg;
	return !column;
}

struct gt_basis_program gt_alltoall_basis(const struct gt_alltoall_master *m)
{
	return (struct gt_basis_program){.arg = m,
					 .nrows = m->flow->rows.n + m->nroots,
					 .nlinks = m->flow->rows.n,
					 .entry = gt_hier_flow_entry,
					 .upper = gt_hier_flow_upper,
					 .gain = gt_hier_flow_gain};
}

static void gt_hier_flow_push(struct gt_alltoall_master *m, uint32_t column)
{
	for (uint32_t r = 0; r < m->flow->rows.n + m->nroots; r++)
		m->entries[r] = gt_hier_flow_entry(m, r, column);
	gt_lp_add(m->lp, column ? 0 : 1, m->entries);
}

static int gt_hier_flow_init(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall *flow = m->flow;
	uint32_t nrows = flow->rows.n + m->nroots;
	double *upper = gt_arena_array(flow->arena, nrows, sizeof(*upper));

	m->entries = gt_arena_array(flow->arena, nrows, sizeof(*m->entries));
	m->prices = gt_arena_array(flow->arena, nrows, sizeof(*m->prices));
	if (!upper || !m->entries || !m->prices ||
	    gt_alltoall_lengths_init(&m->lengths, flow))
		return gt_err_nomem(err);
	m->lengths.all = m->all;
	for (uint32_t r = 0; r < flow->rows.n; r++)
		upper[r] = gt_rat_double(flow->rows.gbs[r]) * flow->rows.unit *
			   (double)m->nranks;
	m->lp = gt_lp_new(nrows, upper);
	if (!m->lp)
		return gt_err_nomem(err);
	gt_hier_flow_push(m, 0);
	return GT_OK;
}

/* ---- its columns ------------------------------------------------------- */

static int gt_hier_bunch_loads(const struct gt_alltoall_master *m,
			       struct gt_alltoall_bundle *bunch)
{
	uint32_t nodes = m->flow->nodes[bunch->root / m->n];

	for (uint32_t to = 0; to < m->n; to++) {
		const struct gt_alltoall_path *way = bunch->ways[to];

		for (uint32_t k = 0; way && k < way->nparts; k++) {
			int32_t *load = &bunch->loads[way->parts[k].row];
			int32_t units;

			if (__builtin_mul_overflow(way->parts[k].units, nodes,
						   &units) ||
			    __builtin_add_overflow(*load, units, load))
				return GT_EINPUT;
		}
	}
	return GT_OK;
}

static int gt_hier_bunch_make(struct gt_alltoall_master *m, uint32_t root,
			      struct gt_alltoall_bundle *bunch)
{
	struct gt_arena *arena = m->flow->arena;
	int rc;

	bunch->root = root;
	bunch->ways = gt_arena_array(arena, m->n, sizeof(*bunch->ways));
	bunch->loads =
		gt_arena_array(arena, m->flow->rows.n, sizeof(*bunch->loads));
	if (!bunch->ways || !bunch->loads)
		return GT_ESYS;
	if (m->all)
		return gt_alltoall_lengths_loads(&m->lengths, root / m->n,
						 root % m->n, bunch->loads);
	rc = gt_alltoall_lengths_paths(&m->lengths, root / m->n, root % m->n,
				       bunch->ways);
	return rc ? rc : gt_hier_bunch_loads(m, bunch);
}

static int gt_hier_bunch_keep(struct gt_alltoall_master *m,
			      const struct gt_alltoall_bundle *bunch)
{
	if (m->nbunches == m->size) {
		uint32_t size = m->size ? 2 * m->size : 64;
		struct gt_alltoall_bundle *grown =
			gt_arena_array(m->flow->arena, size, sizeof(*grown));

		if (!grown)
			return GT_ESYS;
		if (m->nbunches)
			memcpy(grown, m->bunches, m->nbunches * sizeof(*grown));
		m->bunches = grown;
		m->size = size;
	}
	m->bunches[m->nbunches++] = *bunch;
	gt_hier_flow_push(m, m->nbunches);
	return GT_OK;
}

/* 1: a bunch of this root that is shorter than `limit` was added. */
static int gt_hier_flow_offer(struct gt_alltoall_master *m, uint32_t root,
			      double limit)
{
	struct gt_alltoall_bundle bunch;
	double length = 0;
	int rc = gt_hier_bunch_make(m, root, &bunch);

	if (rc)
		return rc;
	for (uint32_t r = 0; r < m->flow->rows.n; r++)
		length += m->prices[r] * bunch.loads[r];
	if (length >= limit * (1 - GT_HIER_FLOW_SLACK) - 1e-15)
		return 0;
	rc = gt_hier_bunch_keep(m, &bunch);
	return rc ? rc : 1;
}

/* The number of bunches that were added. */
static int gt_hier_flow_offers(struct gt_alltoall_master *m, int first)
{
	uint32_t links = m->flow->rows.n;
	double most = 0;
	int added = 0;

	for (uint32_t r = 0; r < links; r++)
		most = m->prices[r] > most ? m->prices[r] : most;
	for (uint32_t r = 0; r < links; r++)
		m->lengths.price[r] =
			most > 0 ? (int64_t)(m->prices[r] / most *
					     (double)GT_HIER_FLOW_ONE /
					     m->flow->rows.unit)
				 : 0;
	gt_alltoall_lengths_set(&m->lengths);
	for (uint32_t i = 0; i < m->nroots; i++) {
		int one = 0;

		if (gt_alltoall_has_root(m, i))
			one = gt_hier_flow_offer(
				m, i, first ? 1e300 : m->prices[links + i]);
		if (one < 0)
			return one;
		added += one;
	}
	return added;
}

static int gt_hier_flow_fault(int rc, struct gt_err *err)
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

/* First what is narrow is dear; then by prices of the program. */
static int gt_hier_flow_generate(struct gt_alltoall_master *m,
				 struct gt_err *err)
{
	const struct gt_quotient_rows *rows = &m->flow->rows;
	int added;

	for (uint32_t r = 0; r < rows->n; r++) {
		double gbs = gt_rat_double(rows->gbs[r]);

		m->prices[r] = gbs > 0 ? 1 / gbs : 0;
	}
	added = gt_hier_flow_offers(m, 1);
	while (added > 0) {
		if (gt_lp_solve(m->lp))
			return gt_err_set(err, GT_ESYS, NULL,
					  "the linear program of the node's "
					  "ways was not solved");
		for (uint32_t r = 0; r < rows->n + m->nroots; r++) {
			double price = gt_lp_prices(m->lp)[r];

			m->prices[r] = price > 0 ? price : 0;
		}
		gt_budget_report(m->flow->hier->watch, "flows", m->nrounds,
				 gt_lp_values(m->lp)[0]);
		if (gt_budget_is_spent(m->flow->hier->watch) ||
		    m->nrounds++ == GT_HIER_FLOW_ROUNDS)
			break;
		added = gt_hier_flow_offers(m, 0);
	}
	return added < 0 ? gt_hier_flow_fault(added, err) : GT_OK;
}

/* Few lanes do as well, mostly. */
static int gt_hier_flow_fewer(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall_known_paths known = {0};

	known.ways = gt_arena_array(m->flow->arena, (size_t)m->nbunches * m->n,
				    sizeof(*known.ways));
	if (!known.ways)
		return gt_err_nomem(err);
	for (uint32_t b = 0; b < m->nbunches; b++)
		for (uint32_t to = 0; to < m->n; to++)
			if (m->bunches[b].ways[to])
				known.ways[known.n++] = m->bunches[b].ways[to];
	m->lengths.all = 0;
	gt_alltoall_lengths_set(&m->lengths);
	return gt_alltoall_assign(m->flow, &m->lengths, &known)
		       ? gt_err_nomem(err)
		       : GT_OK;
}

/* ---- all of it --------------------------------------------------------- */

static int gt_hier_flow_rows(struct gt_alltoall *flow, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = &flow->hier->cluster;
	uint32_t nlinks = flow->hier->box->nlinks;
	/* Bytes only go one way: an all-gather's rows. */
	int rc = gt_quotient_rows_init(flow->hier, GT_COLL_ALLGATHER,
				       flow->arena, &flow->rows, err);

	flow->nclasses = cluster->nlevels + 1;
	flow->nodes = gt_arena_array(flow->arena, flow->nclasses,
				     sizeof(*flow->nodes));
	if (rc || !flow->nodes)
		return rc ? rc : gt_err_nomem(err);
	for (uint32_t c = 0; c < flow->nclasses; c++)
		flow->nodes[c] = gt_nodes_in_class(cluster, c);
	for (uint32_t r = nlinks; r < flow->rows.n; r++) {
		uint32_t level = (r - nlinks) / 2 / cluster->nrails;

		if (!gt_rat_div(flow->rows.gbs[r],
				GT_RAT(cluster->levels[level].nodes, 1),
				&flow->rows.gbs[r]))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "the rates need more than 64 bits");
	}
	return GT_OK;
}

/* What ways over any nodes could do, when that may be more. */
static int gt_hier_flow_bound(const struct gt_alltoall_master *once,
			      struct gt_err *err)
{
	struct gt_alltoall *flow = once->flow;
	struct gt_alltoall all = *flow;
	struct gt_alltoall_master m = {.flow = &all,
				       .n = once->n,
				       .nranks = once->nranks,
				       .nroots = once->nroots,
				       .all = 1};
	int rc = gt_hier_flow_init(&m, err);

	if (!rc)
		rc = gt_hier_flow_generate(&m, err);
	if (!rc)
		rc = gt_alltoall_certify(&m, err);
	gt_lp_free(m.lp);
	if (rc || !all.has_bound ||
	    (flow->has_bound && gt_rat_cmp(all.bound, flow->bound) >= 0))
		return rc;
	flow->has_bound = 1;
	flow->bound = all.bound;
	flow->prices = all.prices;
	flow->nprices = all.nprices;
	return GT_OK;
}

int gt_alltoall_solve(const struct gt_quotient *hier, struct gt_arena *arena,
		      struct gt_alltoall *flow, struct gt_err *err)
{
	struct gt_alltoall_master m = {
		.flow = flow,
		.n = hier->box->nranks,
		.nranks = (int64_t)hier->box->nranks * hier->cluster.nnodes,
		.nroots = (hier->cluster.nlevels + 1) * hier->box->nranks};
	int rc;

	*flow = (struct gt_alltoall){.hier = hier, .arena = arena};
	if (2 * m.n > GT_SHORTEST_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "nodes of %u GPUs are too many for flows; "
				  "name up to %d with --gpus",
				  m.n, GT_SHORTEST_MAX / 2);
	rc = gt_hier_flow_rows(flow, err);
	if (!rc)
		rc = gt_hier_flow_init(&m, err);
	if (!rc)
		rc = gt_hier_flow_generate(&m, err);
	if (!rc)
		rc = gt_alltoall_decompose(&m, err);
	if (!rc)
		rc = gt_alltoall_certify(&m, err);
	if (!rc)
		rc = gt_hier_flow_fewer(&m, err);
	if (!rc && (!flow->has_bound || gt_rat_cmp(flow->rate, flow->bound)))
		rc = gt_hier_flow_bound(&m, err);
	gt_lp_free(m.lp);
	return rc;
}
