/*
 * A graph, found from the names in links' ids: vertices are
 * sorted by name, and ranks, ports and opposite links are found by them.
 */
#include "plan/check/link_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum { GT_VERTEX_NAME_MAX = 512 };

static int gt_name_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t gt_link_graph_find(const struct gt_link_graph *vertices,
			    const char *name)
{
	const char *const *found = bsearch(&name, vertices->names, vertices->n,
					   sizeof(name), gt_name_cmp);

	return found ? (uint32_t)(found - vertices->names) : GT_NO_VERTEX;
}

/*
 * Cut the kind off a vertex name: parallel links are told apart by their kind,
 * as in "CPU/0#C2C" beside "CPU/0".
 */
static void gt_link_graph_cut(char *name, const char *kind)
{
	char *mark = strrchr(name, '#');

	if (mark && kind && !strcmp(mark + 1, kind))
		*mark = '\0';
}

/* Do two links of one kind lead back and forth between the same vertices? */
static int gt_link_graph_pair(const struct gt_link_graph *v,
			      const struct gt_plan *plan, uint32_t i,
			      uint32_t j)
{
	const char *a = plan->links[i].kind, *b = plan->links[j].kind;

	return v->from[i] == v->to[j] && v->to[i] == v->from[j] &&
	       (!a || !b ? a == b : !strcmp(a, b));
}

/* Split every id into its two names, ends[2 * i] and ends[2 * i + 1]. */
static int gt_link_graph_split(const struct gt_plan *plan,
			       struct gt_arena *arena, const char **ends,
			       struct gt_err *err)
{
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		char *from = gt_arena_strdup(arena, plan->links[i].id), *to;

		if (!from)
			return gt_err_nomem(err);
		to = strchr(from, '>');
		if (!to || to == from || !to[1])
			return gt_plan_wrong(plan,
					     gt_plan_at("links[%u].id", i), err,
					     "'%s' does not name two vertices "
					     "as FROM>TO",
					     plan->links[i].id);
		*to++ = '\0';
		gt_link_graph_cut(to, plan->links[i].kind);
		ends[2 * i] = from;
		ends[2 * i + 1] = to;
	}
	return GT_OK;
}

/*
 * Links of several nodes are called "NODE:FROM>TO" within a node, and the ends
 * of those between nodes "NODE:PORT" or a switch's name.  So an end is the
 * node's own if any link begins at the node's vertex of that name.
 */
static int gt_link_graph_nodes(struct gt_link_graph *v,
			       const struct gt_plan *plan,
			       struct gt_arena *arena, const char **ends,
			       struct gt_err *err)
{
	char name[GT_VERTEX_NAME_MAX];

	for (uint32_t i = 0; i < plan->nlinks; i++)
		v->names[i] = ends[2 * i];
	v->n = plan->nlinks;
	qsort(v->names, v->n, sizeof(*v->names), gt_name_cmp);
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		const char *from = ends[2 * i], *to = ends[2 * i + 1];
		int node = (int)strcspn(from, ":/");

		if (from[node] != ':' ||
		    snprintf(name, sizeof(name), "%.*s:%s", node, from, to) >=
			    (int)sizeof(name) ||
		    gt_link_graph_find(v, name) == GT_NO_VERTEX)
			continue;
		ends[2 * i + 1] = gt_arena_strdup(arena, name);
		if (!ends[2 * i + 1])
			return gt_err_nomem(err);
	}
	v->n = 0;
	return GT_OK;
}

static void gt_link_graph_name(struct gt_link_graph *v,
			       const struct gt_plan *plan, const char **ends)
{
	uint32_t nends = 2 * plan->nlinks;

	memcpy(v->names, ends, nends * sizeof(*ends));
	qsort(v->names, nends, sizeof(*v->names), gt_name_cmp);
	for (uint32_t i = 0; i < nends; i++)
		if (!v->n || strcmp(v->names[v->n - 1], v->names[i]))
			v->names[v->n++] = v->names[i];
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		v->from[i] = gt_link_graph_find(v, ends[2 * i]);
		v->to[i] = gt_link_graph_find(v, ends[2 * i + 1]);
		v->back[i] = GT_NO_VERTEX;
	}
	/* The links of a cluster's plan are one node's, so they are few. */
	for (uint32_t i = 0; plan->cluster && i < plan->nlinks; i++)
		for (uint32_t j = 0; j < i; j++)
			if (gt_link_graph_pair(v, plan, i, j)) {
				v->back[i] = j;
				v->back[j] = i;
			}
}

/*
 * The vertex of a rank: in a cluster's plan that of its device, else with the
 * node's name before it, as ranks are listed one by one.
 */
static uint32_t gt_link_graph_rank(const struct gt_link_graph *v,
				   const struct gt_plan *plan, uint32_t i)
{
	const struct gt_plan_rank *rank = &plan->ranks[i];
	uint32_t vertex = GT_NO_VERTEX;
	char name[GT_VERTEX_NAME_MAX];

	if (!rank->device)
		return vertex;
	if (!plan->cluster && rank->node &&
	    snprintf(name, sizeof(name), "%s:GPU/%s", rank->node,
		     rank->device) < (int)sizeof(name))
		vertex = gt_link_graph_find(v, name);
	if (vertex == GT_NO_VERTEX &&
	    snprintf(name, sizeof(name), "GPU/%s", rank->device) <
		    (int)sizeof(name))
		vertex = gt_link_graph_find(v, name);
	return vertex;
}

static int gt_link_graph_ranks(struct gt_link_graph *v,
			       const struct gt_plan *plan, uint32_t nranks,
			       struct gt_err *err)
{
	for (uint32_t i = 0; i < nranks; i++) {
		v->rank[i] = gt_link_graph_rank(v, plan, i);
		for (uint32_t j = 0; j < i; j++)
			if (v->rank[i] != GT_NO_VERTEX &&
			    v->rank[j] == v->rank[i])
				return gt_plan_wrong(
					plan,
					gt_plan_at("cluster.ranks[%u]", i), err,
					"has the device of rank %u", j);
	}
	return GT_OK;
}

static int gt_link_graph_ports(struct gt_link_graph *v,
			       const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	for (uint32_t i = 0; i < cluster->nports; i++) {
		uint32_t vertex = gt_link_graph_find(v, cluster->ports[i].id);

		/*
		 * A port that no link leads to cannot be used, which does no
		 * harm.
		 */
		if (vertex == GT_NO_VERTEX)
			continue;
		if (v->port[vertex] != GT_NO_VERTEX)
			return gt_plan_wrong(plan,
					     gt_plan_at("cluster.ports[%u]", i),
					     err, "port '%s' is named twice",
					     cluster->ports[i].id);
		v->port[vertex] = i;
	}
	return GT_OK;
}

int gt_link_graph_init(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_link_graph *vertices, struct gt_err *err)
{
	uint32_t n = plan->nlinks, nranks = plan->nranks;
	struct gt_link_graph v = {0};
	const char **ends = gt_arena_array(arena, 2 * (size_t)n, sizeof(*ends));
	int rc;

	if (plan->cluster)
		nranks = plan->cluster->nlocal;
	v.names = gt_arena_array(arena, 2 * (size_t)n, sizeof(*v.names));
	v.from = gt_arena_array(arena, n, sizeof(*v.from));
	v.to = gt_arena_array(arena, n, sizeof(*v.to));
	v.back = gt_arena_array(arena, n, sizeof(*v.back));
	v.rank = gt_arena_array(arena, nranks, sizeof(*v.rank));
	v.port = gt_arena_array(arena, 2 * (size_t)n, sizeof(*v.port));
	if (!ends || !v.names || !v.from || !v.to || !v.back || !v.rank ||
	    !v.port)
		return gt_err_nomem(err);
	rc = gt_link_graph_split(plan, arena, ends, err);
	if (!rc && !plan->cluster)
		rc = gt_link_graph_nodes(&v, plan, arena, ends, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < 2 * n; i++)
		v.port[i] = GT_NO_VERTEX;
	gt_link_graph_name(&v, plan, ends);
	rc = gt_link_graph_ranks(&v, plan, nranks, err);
	if (!rc && plan->cluster)
		rc = gt_link_graph_ports(&v, plan, err);
	*vertices = v;
	return rc;
}
