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

/* Rings of more ranks are priced without relays. */
enum { GT_REQUEST_RELAYS = 16 };

static const struct gt_path *gt_request_path(
	const struct gt_search_request *request, uint32_t from, uint32_t to)
{
	return gt_paths_peer(request->paths, request->gpus[from],
			     request->gpus[to]);
}

static int gt_path_is_cable(const struct gt_path *path)
{
	return path->kind == GT_PATH_NVL && path->nhops == 1;
}

/*
 * The rank by which NVLinks join two ranks best, if that is more than three
 * times as wide as their own route; or UINT32_MAX.
 */
static uint32_t gt_request_relay(const struct gt_search_request *request,
				 uint32_t from, uint32_t to)
{
	const struct gt_path *own = gt_request_path(request, from, to);
	struct gt_rat most = own->gbs;
	uint32_t best = UINT32_MAX;

	if (own->kind == GT_PATH_NVL || own->is_staged || from == to ||
	    !gt_rat_mul(own->gbs, GT_RAT(3, 1), &most))
		return UINT32_MAX;
	for (uint32_t via = 0; via < request->nranks; via++) {
		const struct gt_path *in, *out;
		struct gt_rat gbs;

		in = gt_request_path(request, from, via);
		out = gt_request_path(request, via, to);
		if (!gt_path_is_cable(in) || !gt_path_is_cable(out))
			continue;
		gbs = gt_rat_min(in->gbs, out->gbs);
		if (gt_rat_cmp(gbs, most) <= 0)
			continue;
		most = gbs;
		best = via;
	}
	return best;
}

/* The route of two hops, each over an NVLink. */
static int gt_request_relayed(const struct gt_search_request *request,
			      uint32_t from, uint32_t via, uint32_t to,
			      struct gt_arena *arena,
			      struct gt_fabric_route *route)
{
	uint32_t *links = gt_arena_array(arena, 2, sizeof(*links));

	if (!links)
		return 0;
	links[0] = gt_request_path(request, from, via)->links[0];
	links[1] = gt_request_path(request, via, to)->links[0];
	*route = (struct gt_fabric_route){.charge = GT_RAT(1, 1),
					  .nlinks = 2,
					  .links = links,
					  .relayed = 1};
	return 1;
}

static int gt_request_routes(const struct gt_search_request *request,
			     struct gt_arena *arena, struct gt_fabric *fabric)
{
	uint32_t n = fabric->nranks;

	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_path *path =
			gt_request_path(request, i / n, i % n);
		uint32_t via = gt_request_relay(request, i / n, i % n);
		struct gt_fabric_route *route = &fabric->routes[i];

		route->charge = path->charge;
		if (i / n != i % n && path->kind < GT_PATH_DIS)
			route->nlinks = path->nhops;
		route->links = path->links;
		route->is_staged = path->is_staged;
		if (via != UINT32_MAX &&
		    !gt_request_relayed(request, i / n, via, i % n, arena,
					route))
			return 0;
	}
	return 1;
}

static void gt_request_links(const struct gt_search_request *request,
			     struct gt_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->nlinks; i++) {
		const struct gt_link *link = gt_topo_link(request->topo, i);

		fabric->links[i].from = link->from;
		fabric->links[i].to = link->to;
		fabric->links[i].gbs = link->gbs;
		fabric->links[i].charged = link->kind == GT_LINK_PCI;
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
	f->relays = n > 2 && n <= GT_REQUEST_RELAYS;
	f->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, n, sizeof(*f->ranks));
	f->routes = gt_arena_array(arena, (size_t)n * n, sizeof(*f->routes));
	if (!f->links || !f->ranks || !f->routes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		f->ranks[i] = request->gpus[i];
	gt_request_links(request, f);
	return gt_request_routes(request, arena, f) ? GT_OK : gt_err_nomem(err);
}
