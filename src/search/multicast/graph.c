/* Vertices and links by name, and breadth-first search towards a switch. */
#include "search/multicast/graph.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "topo/graph/topo.h"

/* A link is called "FROM>TO" or "NODE:FROM>TO", so it names its beginning. */
static int name_begin(struct gt_switch_graph *g, uint32_t link, const char *id,
		      struct gt_arena *arena)
{
	uint32_t from = g->fabric->links[link].from;

	if (!g->names[from])
		g->names[from] = gt_arena_printf(arena, "%.*s",
						 (int)strcspn(id, ">"), id);
	return g->names[from] != NULL;
}

static int name_links(struct gt_switch_graph *g, struct gt_arena *arena)
{
	const struct gt_flat_cluster *flat = g->request->flat;
	int named = 1;

	for (uint32_t i = 0; i < g->fabric->nlinks && named; i++) {
		const struct gt_fabric_link *link = &g->fabric->links[i];
		const char *kind =
			flat ? flat->link_kinds[i]
			     : gt_link_kind_name(
				       gt_topo_link(g->request->topo, i)->kind);

		named = name_begin(g, i,
				   flat ? flat->link_ids[i]
					: gt_topo_link(g->request->topo, i)->id,
				   arena);
		g->is_nvl[i] = !strcmp(kind, "NVL");
		g->has_nvl[link->from] |= g->is_nvl[i];
		g->has_nvl[link->to] |= g->is_nvl[i];
	}
	return named;
}

static void place_vertices(struct gt_switch_graph *g, uint32_t node,
			   uint32_t first, const struct gt_topo *topo)
{
	for (uint32_t v = 0; v < gt_topo_nnodes(topo); v++) {
		g->node[first + v] = node;
		g->is_gpu[first + v] =
			gt_topo_node(topo, v)->kind == GT_NODE_GPU;
	}
}

static void place_nodes(struct gt_switch_graph *g)
{
	const struct gt_flat_cluster *flat = g->request->flat;

	for (uint32_t v = 0; v < g->fabric->nnodes; v++)
		g->node[v] = GT_NONE;
	g->nnodes = flat ? flat->cluster->nnodes : 1;
	for (uint32_t n = 0; n < g->nnodes; n++)
		place_vertices(g, n, flat ? flat->first_vertex[n] : 0,
			       flat ? gt_cluster_kind_of(flat->cluster, n)->topo
				    : g->request->topo);
	for (uint32_t r = 0; r < g->fabric->nranks; r++)
		g->rank_node[r] = g->node[g->fabric->ranks[r]];
}

int gt_switch_graph_init(struct gt_switch_graph *g,
			 const struct gt_search_request *request,
			 struct gt_arena *arena, struct gt_err *err)
{
	int rc;

	g->request = request;
	rc = gt_search_request_fabric(request, arena, &g->fabric, err);
	if (rc)
		return rc;
	g->names = gt_arena_array(arena, g->fabric->nnodes, sizeof(*g->names));
	g->is_gpu = gt_arena_array(arena, g->fabric->nnodes, 1);
	g->has_nvl = gt_arena_array(arena, g->fabric->nnodes, 1);
	g->is_nvl = gt_arena_array(arena, g->fabric->nlinks, 1);
	g->node = gt_arena_array(arena, g->fabric->nnodes, sizeof(*g->node));
	g->rank_node =
		gt_arena_array(arena, g->fabric->nranks, sizeof(*g->rank_node));
	if (!g->names || !g->is_gpu || !g->has_nvl || !g->is_nvl || !g->node ||
	    !g->rank_node || !name_links(g, arena))
		return gt_err_nomem(err);
	place_nodes(g);
	return GT_OK;
}

int gt_switch_graph_sm(const struct gt_switch_graph *g, uint32_t rank)
{
	const struct gt_search_request *request = g->request;
	const struct gt_flat_cluster *flat = request->flat;

	if (!flat)
		return gt_topo_node(request->topo, request->gpus[rank])->sm;
	return gt_topo_node(
		       gt_cluster_kind_of(flat->cluster, flat->node_of[rank])
			       ->topo,
		       flat->gpu_of[rank])
		->sm;
}

/* May a way to the target begin with this link, and go on from its end? */
static int is_allowed(const struct gt_switch_graph *g, uint32_t link,
		      uint32_t target, int nvl, uint32_t node)
{
	const struct gt_fabric_link *l = &g->fabric->links[link];

	return g->is_nvl[link] == nvl &&
	       (l->to == target || !g->is_gpu[l->to]) &&
	       (node == GT_NONE ||
		(g->node[l->from] == node && g->node[l->to] == node));
}

/* Find the links that lead back, which a plan needs as well. */
static void find_back(const struct gt_switch_graph *g,
		      struct gt_switch_ways *ways)
{
	for (uint32_t i = 0; i < g->fabric->nlinks; i++) {
		const struct gt_fabric_link *l = &g->fabric->links[i];
		uint32_t up = ways->up[l->to];

		if (up != GT_NONE && g->fabric->links[up].to == l->from &&
		    ways->down[l->to] == GT_NONE)
			ways->down[l->to] = i;
	}
}

int gt_switch_ways_find(const struct gt_switch_graph *g, uint32_t target,
			int nvl, uint32_t node, struct gt_arena *arena,
			struct gt_switch_ways *ways, struct gt_err *err)
{
	uint32_t n = g->fabric->nnodes, more = 1;

	ways->dist = gt_arena_array(arena, n, sizeof(*ways->dist));
	ways->up = gt_arena_array(arena, n, sizeof(*ways->up));
	ways->down = gt_arena_array(arena, n, sizeof(*ways->down));
	if (!ways->dist || !ways->up || !ways->down)
		return gt_err_nomem(err);
	for (uint32_t v = 0; v < n; v++)
		ways->dist[v] = ways->up[v] = ways->down[v] = GT_NONE;
	ways->dist[target] = 0;
	for (uint32_t d = 0; more; d++) {
		more = 0;
		for (uint32_t i = 0; i < g->fabric->nlinks; i++) {
			const struct gt_fabric_link *l = &g->fabric->links[i];

			if (ways->dist[l->to] != d ||
			    ways->dist[l->from] != GT_NONE ||
			    !is_allowed(g, i, target, nvl, node))
				continue;
			ways->dist[l->from] = d + 1;
			ways->up[l->from] = i;
			more = 1;
		}
	}
	find_back(g, ways);
	return GT_OK;
}
