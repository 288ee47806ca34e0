/*
 * Cuts of the quotient: sets of vertices that data has to enter, or leave, over
 * links that are too narrow for more than the bound.
 */
#include "search/cluster/cut_bound.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/quotient.h"
#include "search/cluster/quotient_graph.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

/* A cut: the capacity that enters its set, and the ranks that are not in it. */
struct gt_cut_ratio {
	int64_t entering, nreached;
};

/*
 * The ratio of the set that `outside` marks, in lowest terms.  0 when a link
 * that never binds leads into the set.
 */
static int measure_set(const struct gt_quotient_graph *g,
		       const uint32_t *outside, struct gt_cut_ratio *ratio)
{
	const struct gt_fabric *f = g->quotient->fabric;
	int64_t entering = 0, nreached = 0;
	struct gt_rat rat;

	for (uint32_t i = 0; i < g->narcs; i++) {
		if (outside[g->arcs[i].from] || !outside[g->arcs[i].to])
			continue;
		if (g->arcs[i].capacity < 0)
			return 0;
		entering += g->arcs[i].capacity;
	}
	for (uint32_t c = 0; c <= g->quotient->cluster.nlevels; c++)
		for (uint32_t i = 0; i < f->nranks; i++)
			if (!outside[c * f->nnodes + f->ranks[i]])
				nreached += gt_nodes_in_class(
					&g->quotient->cluster, c);
	if (!gt_rat_make(entering, nreached, &rat))
		return 0;
	*ratio = (struct gt_cut_ratio){rat.num, rat.den};
	return 1;
}

/* Do the capacities that falls_short() makes of a ratio fit into a flow? */
static int products_fit(const struct gt_quotient_graph *g,
			struct gt_cut_ratio ratio)
{
	__int128 n = (__int128)g->quotient->cluster.nnodes *
		     g->quotient->fabric->nranks;
	__int128 sum = n * ratio.entering;

	for (uint32_t i = 0; i < g->narcs; i++)
		if (g->arcs[i].capacity > 0)
			sum += (__int128)g->arcs[i].capacity * ratio.nreached;
	return g->fits && sum < GT_MAXFLOW_INF / 64;
}

/*
 * Is less than `entering` of each rank's data reached at this one when links
 * carry `nreached` times their capacity?  Then `outside` is a set with a
 * smaller ratio.
 */
static int falls_short(struct gt_quotient_graph *g, struct gt_cut_ratio at,
		       uint32_t sink, uint32_t *outside)
{
	uint32_t n = g->quotient->fabric->nranks,
		 classes = g->quotient->cluster.nlevels;
	int64_t all = (int64_t)g->quotient->cluster.nnodes * n;

	gt_quotient_graph_scale(g, at.nreached);
	for (uint32_t c = 0; c <= classes; c++)
		for (uint32_t i = 0; i < n; i++)
			gt_quotient_graph_feed(
				g, c, i,
				at.entering *
					gt_nodes_in_class(&g->quotient->cluster,
							  c));
	return gt_quotient_graph_run(g, sink, outside) < at.entering * all;
}

/*
 * The set with the least ratio, by Newton's method: the ratio of a set is
 * tried on each rank, and a rank that it is too much for gives a better set.
 * By symmetry the ranks of node 0 stand for all.
 */
static int bound_by_newton(struct gt_quotient_graph *g, uint32_t *trial,
			   struct gt_quotient_bound *bound)
{
	const struct gt_fabric *f = g->quotient->fabric;
	uint32_t n = f->nranks, fine = 0;
	int64_t all = (int64_t)g->quotient->cluster.nnodes * n;
	struct gt_cut_ratio best;

	bound->outside[f->ranks[0]] = 1;
	if (!measure_set(g, bound->outside, &best))
		return 0;
	for (uint32_t v = 0; fine < n; v = (v + 1) % n) {
		if (!products_fit(g, best))
			return 0;
		fine++;
		if (!falls_short(g, best, v, trial))
			continue;
		if (!measure_set(g, trial, &best))
			return 0;
		memcpy(bound->outside, trial, g->world * sizeof(*trial));
		fine = 0;
	}
	return gt_rat_div(GT_RAT(best.entering, 1), GT_RAT(g->scale, 1),
			  &bound->value) &&
	       gt_rat_mul(bound->value, GT_RAT(all, best.nreached),
			  &bound->value);
}

/*
 * The bound of a broadcast or reduce is the thinnest set that has a rank, but
 * not all of the root's local number; by symmetry the root stands for one of
 * these.  Of the thinnest sets, a smallest that has a rank of node 0 is taken.
 * A symmetry that keeps node 0 maps it to itself: else what is in both, or,
 * where these leave no such rank outside, what is in the first alone, is as
 * thin and smaller (cut functions of links that are alike both ways are
 * submodular and symmetric). So it leaves out those ranks of a whole class.
 */
static int bound_rooted(struct gt_quotient_graph *g, uint32_t root,
			uint32_t *trial, struct gt_quotient_bound *bound)
{
	uint32_t n = g->quotient->fabric->nranks,
		 classes = g->quotient->cluster.nlevels;
	int64_t least = GT_MAXFLOW_INF / 64, value;

	for (uint32_t i = 0; i < (classes + 1) * n; i++) {
		uint32_t c = i / n, v = i % n;

		if (!gt_nodes_in_class(&g->quotient->cluster, c) ||
		    (!c && v == root))
			continue;
		gt_quotient_graph_scale(g, 1);
		gt_quotient_graph_feed(g, c, root, GT_MAXFLOW_INF / 64);
		value = gt_quotient_graph_run(g, v, trial);
		if (value >= least)
			continue;
		least = value;
		memcpy(bound->outside, trial, g->world * sizeof(*trial));
	}
	return least < GT_MAXFLOW_INF / 64 &&
	       gt_rat_div(GT_RAT(least, 1), GT_RAT(g->scale, 1), &bound->value);
}

/*
 * The thinnest cut around rank `rank` of node 0, or (unless `each`) the node.
 */
static int64_t thinnest_cut(struct gt_quotient_graph *g, uint32_t rank,
			    int each, uint32_t *outside)
{
	uint32_t n = g->quotient->fabric->nranks;

	gt_quotient_graph_scale(g, 1);
	for (uint32_t c = 0; c <= g->quotient->cluster.nlevels; c++)
		for (uint32_t i = 0; i < n; i++)
			if (c || (each && i != rank))
				gt_quotient_graph_feed(g, c, i,
						       GT_MAXFLOW_INF / 64 / n);
	for (uint32_t i = 1; i < n && !each; i++)
		gt_quotient_graph_tie(g, i);
	return gt_quotient_graph_run(g, rank, outside);
}

/*
 * The bound of an all-reduce by parts of one rank each, or of one node each.
 * Between p parts 2 (p - 1) messages go for each element.
 */
static int partition_bound(struct gt_quotient_graph *g, int each,
			   uint32_t *trial, struct gt_quotient_bound *made)
{
	const struct gt_quotient *q = g->quotient;
	uint32_t n = each ? q->fabric->nranks : 1;
	int64_t sum = 0, parts = (int64_t)n * q->cluster.nnodes;

	memset(made->outside, 0, made->nvertices * sizeof(*made->outside));
	made->nparts = n;
	for (uint32_t entering = 0; entering < n; entering++) {
		sum += thinnest_cut(g, entering, each, trial);
		for (uint32_t v = 0; v < g->world; v++) {
			if (!trial[v])
				continue;
			if (v >= q->fabric->nnodes || made->outside[v])
				return 0;
			made->outside[v] = entering + 1;
		}
	}
	return parts > 1 &&
	       gt_rat_div(GT_RAT(sum, 1), GT_RAT(g->scale, 1), &made->value) &&
	       gt_rat_mul(made->value,
			  GT_RAT(q->cluster.nnodes, 2 * (parts - 1)),
			  &made->value);
}

/*
 * The bound of an all-reduce by parts of all that hangs below a switch of a
 * level.  Seen from node 0 its part is the lower classes, and their switches.
 */
static int switch_partition_bound(struct gt_quotient_graph *g, uint32_t level,
				  struct gt_quotient_bound *made)
{
	const struct gt_quotient *q = g->quotient;
	const struct gt_plan_cluster *cluster = &q->cluster;
	int64_t parts = cluster->nnodes / cluster->levels[level].nodes, sum = 0;

	memset(made->outside, 0, made->nvertices * sizeof(*made->outside));
	made->nparts = 1;
	for (uint32_t v = 0; v < (level + 2) * q->fabric->nnodes; v++)
		made->outside[v] = 1;
	for (uint32_t i = 0; i < (level + 1) * (level + 2); i++)
		for (uint32_t r = 0; r < cluster->nrails; r++)
			made->outside[gt_quotient_switch(
				q, i / (level + 2), i % (level + 2), r)] = 1;
	for (uint32_t i = 0; i < g->narcs; i++)
		if (!made->outside[g->arcs[i].from] &&
		    made->outside[g->arcs[i].to])
			sum += g->arcs[i].capacity;
	return parts > 1 &&
	       gt_rat_div(GT_RAT(sum, 1), GT_RAT(g->scale, 1), &made->value) &&
	       gt_rat_mul(made->value, GT_RAT(parts, 2 * (parts - 1)),
			  &made->value);
}

static int bound_init(struct gt_arena *arena, uint32_t n,
		      struct gt_quotient_bound *bound)
{
	memset(bound, 0, sizeof(*bound));
	bound->nvertices = n;
	bound->outside = gt_arena_array(arena, n, sizeof(*bound->outside));
	return bound->outside ? GT_OK : GT_ESYS;
}

/* The best partition: by node, by rank, or by switch of some level. */
static int best_partition(struct gt_quotient_graph *g, uint32_t *trial,
			  struct gt_arena *arena,
			  struct gt_quotient_bound *bound)
{
	struct gt_quotient_bound other, swap;

	if (bound_init(arena, g->world, &other))
		return GT_ESYS;
	for (uint32_t i = 0; i <= g->quotient->cluster.nlevels; i++) {
		other.found = i < 2 ? partition_bound(g, (int)i, trial, &other)
				    : switch_partition_bound(g, i - 2, &other);
		if (!other.found ||
		    (bound->found &&
		     gt_rat_cmp(other.value, bound->value) >= 0))
			continue;
		swap = *bound;
		*bound = other;
		other = swap;
	}
	return GT_OK;
}

static int bound_in_graph(struct gt_quotient_graph *g,
			  const struct gt_quotient_bound_query *query,
			  struct gt_arena *arena,
			  struct gt_quotient_bound *bound)
{
	uint32_t *trial = gt_arena_array(arena, g->world, sizeof(*trial));

	if (!trial || bound_init(arena, g->world, bound))
		return GT_ESYS;
	if (gt_coll_has_blocks(query->coll)) {
		bound->found = bound_by_newton(g, trial, bound);
		return GT_OK;
	}
	if (!products_fit(g, (struct gt_cut_ratio){1, 1}))
		return GT_OK;
	if (query->coll == GT_COLL_ALLREDUCE)
		return best_partition(g, trial, arena, bound);
	bound->found = bound_rooted(
		g, query->root % g->quotient->fabric->nranks, trial, bound);
	return GT_OK;
}

/* Mark a route's links as crossed; 0 when there is no route. */
static int mark_crossed(const struct gt_fabric_route *route, uint8_t *unused)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		unused[route->links[k]] = 0;
	return route->nlinks > 0;
}

/* The links that no route crosses; NULL if none, or if a pair has no route. */
static int find_unused(const struct gt_quotient *q, struct gt_arena *arena,
		       uint8_t **out)
{
	const struct gt_fabric *f = q->fabric;
	uint32_t n = f->nranks, nports = q->cluster.nports;
	uint8_t *unused = gt_arena_alloc(arena, f->nlinks + 1);
	int all = 1;

	*out = NULL;
	if (!unused)
		return GT_ESYS;
	memset(unused, 1, f->nlinks);
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n)
			all &= mark_crossed(&f->routes[i], unused);
	for (uint32_t i = 0; i < n * nports; i++)
		all &= mark_crossed(&q->out[i], unused) &
		       mark_crossed(&q->in[i], unused);
	if (all && memchr(unused, 1, f->nlinks))
		*out = unused;
	return GT_OK;
}

/* Does the link lead from a set to what is not in it, in any class? */
static int link_is_cut(const struct gt_quotient *q,
		       const struct gt_quotient_bound *bound, uint32_t link)
{
	const struct gt_fabric_link *l = &q->fabric->links[link];

	for (uint32_t c = 0; c <= q->cluster.nlevels; c++) {
		const uint32_t *at = &bound->outside[c * q->fabric->nnodes];

		if (at[l->from] != at[l->to])
			return 1;
	}
	return 0;
}

static int bound_without(const struct gt_quotient_bound_query *query,
			 const uint8_t *unused, struct gt_arena *arena,
			 struct gt_quotient_bound *bound)
{
	int reverse = !gt_coll_goes_down(query->coll);
	struct gt_quotient_graph g;
	int rc = gt_quotient_graph_init(&g, query->quotient, unused, reverse);

	if (!rc)
		rc = bound_in_graph(&g, query, arena, bound);
	gt_quotient_graph_release(&g);
	return rc;
}

int gt_quotient_bound_find(const struct gt_quotient_bound_query *query,
			   struct gt_arena *arena,
			   struct gt_quotient_bound *bound, struct gt_err *err)
{
	struct gt_quotient_bound less = {0};
	uint8_t *unused = NULL;
	int rc = bound_without(query, NULL, arena, bound);

	if (!rc && query->all_routes)
		rc = find_unused(query->quotient, arena, &unused);
	if (!rc && unused)
		rc = bound_without(query, unused, arena, &less);
	if (rc)
		return gt_err_nomem(err);
	if (!less.found ||
	    (bound->found && gt_rat_cmp(less.value, bound->value) >= 0))
		return GT_OK;
	for (uint32_t i = 0; i < query->quotient->fabric->nlinks; i++)
		unused[i] &= (uint8_t)link_is_cut(query->quotient, &less, i);
	*bound = less;
	bound->unused = unused;
	return GT_OK;
}
