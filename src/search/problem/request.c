/*
 * The fabric of a request: a topology's links and routes as numbers, or those
 * of a flat cluster.
 */
#include "search/problem/request.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "topo/graph/path.h"

static void gt_request_fill(const struct gt_search_request *request,
			    struct gt_fabric *fabric)
{
	uint32_t n = fabric->nranks;

	for (uint32_t i = 0; i < fabric->nlinks; i++) {
		const struct gt_link *link = gt_topo_link(request->topo, i);

		fabric->links[i].from = link->from;
		fabric->links[i].to = link->to;
		fabric->links[i].gbs = link->gbs;
		fabric->links[i].charged = link->kind == GT_LINK_PCI;
	}
	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_path *path =
			gt_paths_get(request->paths, fabric->ranks[i / n],
				     fabric->ranks[i % n]);
		struct gt_fabric_route *route = &fabric->routes[i];

		route->charge = path->charge;
		if (i / n != i % n && path->kind < GT_PATH_DIS)
			route->nlinks = path->nhops;
		route->links = path->links;
		route->is_staged = path->is_staged;
	}
}

int gt_search_request_fabric(const struct gt_search_request *request,
			     struct gt_arena *arena, struct gt_fabric **fabric,
			     struct gt_err *err)
{
	struct gt_fabric *f = gt_arena_alloc(arena, sizeof(*f));
	uint32_t n = request->nranks;

	if (!f)
		return gt_err_nomem(err);
	*fabric = f;
	if (request->flat) {
		*f = request->flat->fabric;
		return GT_OK;
	}
	f->nnodes = gt_topo_nnodes(request->topo);
	f->nlinks = gt_topo_nlinks(request->topo);
	f->nranks = n;
	f->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, n, sizeof(*f->ranks));
	f->routes = gt_arena_array(arena, (size_t)n * n, sizeof(*f->routes));
	if (!f->links || !f->ranks || !f->routes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		f->ranks[i] = request->gpus[i];
	gt_request_fill(request, f);
	return GT_OK;
}
