/*
 * The routes of a cluster's certificate: each has to follow links of one node,
 * and the hops of the proof's row have to be made of them.
 */
#include "plan/check/cluster_routes.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* The vertex of a place: of a rank, or of a port. */
static uint32_t gt_routes_vertex(const struct gt_cluster_routes *r,
				 uint32_t place)
{
	const struct gt_plan_cluster *cluster = r->plan->cluster;

	if (place < cluster->nlocal)
		return r->vertices->rank[place];
	return gt_link_graph_find(r->vertices,
				  cluster->ports[place - cluster->nlocal].id);
}

/*
 * The fault of a route, or NULL: its links have to lead from the one place to
 * the other, at a charge that ends at ports.
 */
static const char *gt_routes_route_fault(const struct gt_cluster_routes *r,
					 const struct gt_plan_route *route)
{
	uint32_t n = r->plan->cluster->nlocal, at;

	if (route->from >= n && route->to >= n)
		return "does not lead from or to a rank";
	if (route->from == route->to ||
	    r->table[route->from * r->places + route->to])
		return "does not lead anywhere, or is a second one";
	if (gt_rat_cmp(route->charge, GT_RAT(1, 1)) < 0 ||
	    (route->from >= n && gt_rat_cmp(route->charge, GT_RAT(1, 1))))
		return "has a charge of less than 1, or one behind a port";
	at = gt_routes_vertex(r, route->from);
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (link >= r->plan->nlinks || r->vertices->from[link] != at)
			return "has links that do not meet";
		at = r->vertices->to[link];
	}
	if (at == GT_NO_VERTEX || at != gt_routes_vertex(r, route->to))
		return "does not lead there";
	return NULL;
}

/*
 * There is a route for every pair of ranks, and for such pairs of ranks and
 * ports as rings may use.
 */
static int gt_routes_read(struct gt_cluster_routes *r, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &r->plan->proof;
	uint32_t n = r->plan->cluster->nlocal, m = r->places;
	const char *fault;

	for (uint32_t i = 0; i < proof->nroutes; i++) {
		const struct gt_plan_route *route = &proof->routes[i];

		fault = route->from < m && route->to < m
				? gt_routes_route_fault(r, route)
				: "leads nowhere";
		if (fault)
			return gt_plan_wrong(
				r->plan,
				gt_plan_at("proof.certificate.routes[%u]", i),
				err, "%s", fault);
		r->table[route->from * m + route->to] = route;
	}
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n && !r->table[i / n * m + i % n])
			return gt_plan_wrong(
				r->plan, gt_plan_at("proof.certificate.routes"),
				err, "none leads from %u to %u", i / n, i % n);
	return GT_OK;
}

/* Are the hop's links, from number `first` on, those of the route? */
static int gt_routes_follows(const struct gt_plan_hop *hop, uint32_t first,
			     const struct gt_plan_route *route)
{
	if (!route || first + route->nlinks > hop->nroute)
		return 0;
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (hop->route[first + k] != route->links[k])
			return 0;
	return 1;
}

/*
 * Is the hop made of the certificate's routes?  The proof speaks of no others,
 * so the plan must not use others.
 */
static int gt_routes_hop_routes(const struct gt_cluster_routes *r,
				const struct gt_plan_hop *hop)
{
	const struct gt_link_graph *v = r->vertices;
	uint32_t n = r->plan->cluster->nlocal, m = r->places;
	const struct gt_plan_route *out = r->table[hop->from * m + hop->to],
				   *in = NULL;

	for (uint32_t k = 0; k + 1 < hop->nroute && hop->network; k++) {
		uint32_t end = v->port[v->to[hop->route[k]]];

		if (end == GT_NO_VERTEX)
			continue;
		out = r->table[hop->from * m + n + end];
		end = v->port[v->from[hop->route[k + 1]]];
		in = r->table[(n + end) * m + hop->to];
		if (!gt_routes_follows(hop, k + 1, in))
			return 0;
	}
	return gt_routes_follows(hop, 0, out) &&
	       hop->nroute == out->nlinks + (in ? in->nlinks : 0) &&
	       !gt_rat_cmp(hop->charge, out->charge);
}

/*
 * Find the first hop of the proof's row that is not right, and report it with
 * this fault.
 */
static int gt_routes_check_hops(
	const struct gt_cluster_routes *r,
	int (*is_right)(const struct gt_cluster_routes *r,
			const struct gt_plan_hop *hop),
	const char *fault, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(r->plan);

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&r->plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nhops; i++)
			if (!is_right(r, &channel->hops[i]))
				return gt_plan_wrong(
					r->plan,
					gt_plan_at("channels[%u].hops[%u]",
						   row->channels[c], i),
					err, "%s", fault);
	}
	return GT_OK;
}

int gt_check_cluster_routes(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_cluster_routes *routes,
			    struct gt_err *err)
{
	size_t m = (size_t)plan->cluster->nlocal + plan->cluster->nports;
	int rc;

	routes->plan = plan;
	routes->vertices = vertices;
	routes->places = (uint32_t)m;
	routes->table = gt_arena_array(arena, m * m, sizeof(*routes->table));
	if (!routes->table)
		return gt_err_nomem(err);
	rc = gt_routes_read(routes, err);
	return rc ? rc
		  : gt_routes_check_hops(
			    routes, gt_routes_hop_routes,
			    "route or charge is not that of the proof's "
			    "routes",
			    err);
}

/*
 * Links may be left out of the cut only if the routes of all pairs are listed.
 */
static int gt_routes_complete(const struct gt_cluster_routes *r,
			      struct gt_err *err)
{
	uint32_t n = r->plan->cluster->nlocal;

	for (uint32_t i = 0; i < r->places * r->places; i++) {
		uint32_t from = i / r->places, to = i % r->places;

		if (from != to && (from < n || to < n) && !r->table[i])
			return gt_plan_wrong(
				r->plan, gt_plan_at("proof.certificate.unused"),
				err,
				"says nothing: a pair of ranks, or of a rank "
				"and a port, has no route");
	}
	return GT_OK;
}

/*
 * Trees that bytes go up take the links of their hops in the other direction:
 * is none of those left out?
 */
static int gt_routes_hop_back(const struct gt_cluster_routes *r,
			      const struct gt_plan_hop *hop)
{
	for (uint32_t k = 0; k < hop->nroute; k++) {
		uint32_t back = r->vertices->back[hop->route[k]];

		if (back < r->plan->nlinks && r->unused[back])
			return 0;
	}
	return 1;
}

static int gt_routes_check_back(const struct gt_cluster_routes *r,
				struct gt_err *err)
{
	enum gt_algo algo = gt_plan_main_row(r->plan)->algo;

	if (algo == GT_ALGO_RING || algo == GT_ALGO_FLOW)
		return GT_OK;
	return gt_routes_check_hops(
		r, gt_routes_hop_back,
		"goes back over a link that the proof leaves out", err);
}

int gt_check_cluster_unused(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena, uint8_t *unused,
			    struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	struct gt_cluster_routes routes;
	int rc = gt_check_cluster_routes(plan, vertices, arena, &routes, err);

	if (!rc)
		rc = gt_routes_complete(&routes, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < proof->nunused; i++)
		unused[proof->unused[i]] = 1;
	for (uint32_t i = 0; i < proof->nroutes; i++)
		for (uint32_t k = 0; k < proof->routes[i].nlinks; k++)
			if (unused[proof->routes[i].links[k]])
				return gt_plan_wrong(
					plan,
					gt_plan_at("proof.certificate.unused"),
					err, "'%s' is on route number %u",
					plan->links[proof->routes[i].links[k]]
						.id,
					i);
	routes.unused = unused;
	return gt_routes_check_back(&routes, err);
}
