#include "search/cluster/quotient.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient_graph.h"
#include "search/graph/maxflow.h"

/* What enters the set that is outside, and the ranks that are not in it. */
struct gt_hier_ratio {
	int64_t p, q;
};

/* As a fraction; 0 when a link that never binds leads into the set. */
static int gt_hier_measure(const struct gt_quotient_graph *g,
			   const uint32_t *outside, struct gt_hier_ratio *ratio)
{
	const struct gt_fabric *box = g->hier->box;
	int64_t p = 0, q = 0;
	struct gt_rat rat;

	for (uint32_t i = 0; i < g->narcs; i++) {
		if (outside[g->arcs[i].from] || !outside[g->arcs[i].to])
			continue;
		if (g->arcs[i].capacity < 0)
			return 0;
		p += g->arcs[i].capacity;
	}
	for (uint32_t c = 0; c <= g->hier->cluster.nlevels; c++)
		for (uint32_t i = 0; i < box->nranks; i++)
			if (!outside[c * box->nnodes + box->ranks[i]])
				q += gt_quotient_class_nodes(g->hier, c);
	if (!gt_rat_make(p, q, &rat))
		return 0;
	*ratio = (struct gt_hier_ratio){rat.num, rat.den};
	return 1;
}

/* Do all products stay within what flows can be? */
static int gt_hier_fits(const struct gt_quotient_graph *g,
			struct gt_hier_ratio ratio)
{
	__int128 n = (__int128)g->hier->cluster.nnodes * g->hier->box->nranks;
	__int128 sum = n * ratio.p;

	for (uint32_t i = 0; i < g->narcs; i++)
		if (g->arcs[i].capacity > 0)
			sum += (__int128)g->arcs[i].capacity * ratio.q;
	return g->fits && sum < GT_MAXFLOW_INF / 64;
}

/* Does less than p of every rank reach this one, links carrying q? */
static int gt_hier_short(struct gt_quotient_graph *g, struct gt_hier_ratio at,
			 uint32_t sink, uint32_t *outside)
{
	uint32_t n = g->hier->box->nranks, classes = g->hier->cluster.nlevels;
	int64_t all = (int64_t)g->hier->cluster.nnodes * n;

	gt_quotient_graph_scale(g, at.q);
	for (uint32_t c = 0; c <= classes; c++)
		for (uint32_t i = 0; i < n; i++)
			gt_quotient_graph_feed(
				g, c, i,
				at.p * gt_quotient_class_nodes(g->hier, c));
	return gt_quotient_graph_run(g, sink, outside) < at.p * all;
}

/* As in search/bound/bound.c; by symmetry the ranks of node 0 stand for all. */
static int gt_hier_newton(struct gt_quotient_graph *g, uint32_t *trial,
			  struct gt_quotient_bound *bound)
{
	const struct gt_fabric *box = g->hier->box;
	uint32_t n = box->nranks, fine = 0;
	int64_t all = (int64_t)g->hier->cluster.nnodes * n;
	struct gt_hier_ratio best;

	bound->outside[box->ranks[0]] = 1;
	if (!gt_hier_measure(g, bound->outside, &best))
		return 0;
	for (uint32_t v = 0; fine < n; v = (v + 1) % n) {
		if (!gt_hier_fits(g, best))
			return 0;
		fine++;
		if (!gt_hier_short(g, best, v, trial))
			continue;
		if (!gt_hier_measure(g, trial, &best))
			return 0;
		memcpy(bound->outside, trial, g->world * sizeof(*trial));
		fine = 0;
	}
	return gt_rat_div(GT_RAT(best.p, 1), GT_RAT(g->scale, 1),
			  &bound->value) &&
	       gt_rat_mul(bound->value, GT_RAT(all, best.q), &bound->value);
}

/*
 * Broadcast, reduce: the thinnest set that has a rank, but not all of the
 * root's local number; by symmetry the root stands for one of these.  Of the
 * thinnest take a smallest that has a rank of node 0.  A symmetry that keeps
 * node 0 maps it to itself: else what is in both, or, where these leave no
 * such rank outside, what is in the first alone, is as thin and smaller (cut
 * functions of links that are alike both ways are submodular and symmetric).
 * So it leaves out those ranks of a whole class.
 */
static int gt_hier_rooted(struct gt_quotient_graph *g, uint32_t root,
			  uint32_t *trial, struct gt_quotient_bound *bound)
{
	uint32_t n = g->hier->box->nranks, classes = g->hier->cluster.nlevels;
	int64_t least = GT_MAXFLOW_INF / 64, value;

	for (uint32_t i = 0; i < (classes + 1) * n; i++) {
		uint32_t c = i / n, v = i % n;

		if (!gt_quotient_class_nodes(g->hier, c) || (!c && v == root))
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

/* The thinnest cut around one rank of node 0, or around all of them. */
static int64_t gt_alltoall_load(struct gt_quotient_graph *g, uint32_t rank,
				int each, uint32_t *outside)
{
	uint32_t n = g->hier->box->nranks;

	gt_quotient_graph_scale(g, 1);
	for (uint32_t c = 0; c <= g->hier->cluster.nlevels; c++)
		for (uint32_t i = 0; i < n; i++)
			if (c || (each && i != rank))
				gt_quotient_graph_feed(g, c, i,
						       GT_MAXFLOW_INF / 64 / n);
	for (uint32_t i = 1; i < n && !each; i++)
		gt_quotient_graph_tie(g, i);
	return gt_quotient_graph_run(g, rank, outside);
}

/*
 * All-reduce: the cluster as parts of one rank each, or of one node each.
 * Messages between p parts: 2 (p - 1) for each element.
 */
static int gt_hier_partition(struct gt_quotient_graph *g, int each,
			     uint32_t *trial, struct gt_quotient_bound *made)
{
	const struct gt_quotient *hier = g->hier;
	uint32_t n = each ? hier->box->nranks : 1;
	int64_t sum = 0, parts = (int64_t)n * hier->cluster.nnodes;

	memset(made->outside, 0, made->nvertices * sizeof(*made->outside));
	made->nparts = n;
	for (uint32_t p = 0; p < n; p++) {
		sum += gt_alltoall_load(g, p, each, trial);
		for (uint32_t v = 0; v < g->world; v++) {
			if (!trial[v])
				continue;
			if (v >= hier->box->nnodes || made->outside[v])
				return 0;
			made->outside[v] = p + 1;
		}
	}
	return parts > 1 &&
	       gt_rat_div(GT_RAT(sum, 1), GT_RAT(g->scale, 1), &made->value) &&
	       gt_rat_mul(made->value,
			  GT_RAT(hier->cluster.nnodes, 2 * (parts - 1)),
			  &made->value);
}

/*
 * All-reduce: the cluster as parts of all that hangs below a switch of a
 * level.  Seen from node 0 its part is the lower classes, and their switches.
 */
static int gt_hier_groups(struct gt_quotient_graph *g, uint32_t level,
			  struct gt_quotient_bound *made)
{
	const struct gt_quotient *hier = g->hier;
	const struct gt_plan_cluster *cluster = &hier->cluster;
	int64_t parts = cluster->nnodes / cluster->levels[level].nodes, sum = 0;

	memset(made->outside, 0, made->nvertices * sizeof(*made->outside));
	made->nparts = 1;
	for (uint32_t v = 0; v < (level + 2) * hier->box->nnodes; v++)
		made->outside[v] = 1;
	for (uint32_t i = 0; i < (level + 1) * (level + 2); i++)
		for (uint32_t r = 0; r < cluster->nrails; r++)
			made->outside[gt_quotient_switch(
				hier, i / (level + 2), i % (level + 2), r)] = 1;
	for (uint32_t i = 0; i < g->narcs; i++)
		if (!made->outside[g->arcs[i].from] &&
		    made->outside[g->arcs[i].to])
			sum += g->arcs[i].capacity;
	return parts > 1 &&
	       gt_rat_div(GT_RAT(sum, 1), GT_RAT(g->scale, 1), &made->value) &&
	       gt_rat_mul(made->value, GT_RAT(parts, 2 * (parts - 1)),
			  &made->value);
}

static int gt_hier_bound_new(struct gt_arena *arena, uint32_t n,
			     struct gt_quotient_bound *bound)
{
	memset(bound, 0, sizeof(*bound));
	bound->nvertices = n;
	bound->outside = gt_arena_array(arena, n, sizeof(*bound->outside));
	return bound->outside ? GT_OK : GT_ESYS;
}

/* By node, by rank, by switch of each level. */
static int gt_hier_best_parts(struct gt_quotient_graph *g, uint32_t *trial,
			      struct gt_arena *arena,
			      struct gt_quotient_bound *bound)
{
	struct gt_quotient_bound other, swap;

	if (gt_hier_bound_new(arena, g->world, &other))
		return GT_ESYS;
	for (uint32_t i = 0; i <= g->hier->cluster.nlevels; i++) {
		other.found =
			i < 2 ? gt_hier_partition(g, (int)i, trial, &other)
			      : gt_hier_groups(g, i - 2, &other);
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

static int gt_hier_bound_run(struct gt_quotient_graph *g,
			     const struct gt_quotient_bound_query *ask,
			     struct gt_arena *arena,
			     struct gt_quotient_bound *bound)
{
	uint32_t *trial = gt_arena_array(arena, g->world, sizeof(*trial));

	if (!trial || gt_hier_bound_new(arena, g->world, bound))
		return GT_ESYS;
	if (gt_coll_has_blocks(ask->coll)) {
		bound->found = gt_hier_newton(g, trial, bound);
		return GT_OK;
	}
	if (!gt_hier_fits(g, (struct gt_hier_ratio){1, 1}))
		return GT_OK;
	if (ask->coll == GT_COLL_ALLREDUCE)
		return gt_hier_best_parts(g, trial, arena, bound);
	bound->found = gt_hier_rooted(g, ask->root % g->hier->box->nranks,
				      trial, bound);
	return GT_OK;
}

/* Mark a route's links as crossed; 0: there is no route. */
static int gt_hier_cross(const struct gt_fabric_route *route, uint8_t *unused)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		unused[route->links[k]] = 0;
	return route->nlinks > 0;
}

/* Links that no route crosses; NULL: there are none, or a pair has no route. */
static int gt_hier_unused(const struct gt_quotient *hier,
			  struct gt_arena *arena, uint8_t **out)
{
	const struct gt_fabric *box = hier->box;
	uint32_t n = box->nranks, nports = hier->cluster.nports;
	uint8_t *unused = gt_arena_alloc(arena, box->nlinks + 1);
	int all = 1;

	*out = NULL;
	if (!unused)
		return GT_ESYS;
	memset(unused, 1, box->nlinks);
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n)
			all &= gt_hier_cross(&box->routes[i], unused);
	for (uint32_t i = 0; i < n * nports; i++)
		all &= gt_hier_cross(&hier->out[i], unused) &
		       gt_hier_cross(&hier->in[i], unused);
	if (all && memchr(unused, 1, box->nlinks))
		*out = unused;
	return GT_OK;
}

/* Does the link lead from a set to what is not in it, in any class? */
static int gt_hier_parted(const struct gt_quotient *hier,
			  const struct gt_quotient_bound *bound, uint32_t link)
{
	const struct gt_fabric_link *l = &hier->box->links[link];

	for (uint32_t c = 0; c <= hier->cluster.nlevels; c++) {
		const uint32_t *at = &bound->outside[c * hier->box->nnodes];

		if (at[l->from] != at[l->to])
			return 1;
	}
	return 0;
}

static int gt_hier_bound_on(const struct gt_quotient_bound_query *ask,
			    const uint8_t *unused, struct gt_arena *arena,
			    struct gt_quotient_bound *bound)
{
	int reverse = !gt_coll_goes_down(ask->coll);
	struct gt_quotient_graph g;
	int rc = gt_quotient_graph_init(&g, ask->hier, unused, reverse);

	if (!rc)
		rc = gt_hier_bound_run(&g, ask, arena, bound);
	gt_quotient_graph_release(&g);
	return rc;
}

int gt_quotient_bound_find(const struct gt_quotient_bound_query *ask,
			   struct gt_arena *arena,
			   struct gt_quotient_bound *bound, struct gt_err *err)
{
	struct gt_quotient_bound less = {0};
	uint8_t *unused = NULL;
	int rc = gt_hier_bound_on(ask, NULL, arena, bound);

	if (!rc && ask->all_routes)
		rc = gt_hier_unused(ask->hier, arena, &unused);
	if (!rc && unused)
		rc = gt_hier_bound_on(ask, unused, arena, &less);
	if (rc)
		return gt_err_nomem(err);
	if (!less.found ||
	    (bound->found && gt_rat_cmp(less.value, bound->value) >= 0))
		return GT_OK;
	for (uint32_t i = 0; i < ask->hier->box->nlinks; i++)
		unused[i] &= (uint8_t)gt_hier_parted(ask->hier, &less, i);
	*bound = less;
	bound->unused = unused;
	return GT_OK;
}
