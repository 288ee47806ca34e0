#include "plan/cost/network.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/check/link_graph.h"

struct gt_cost_routes {
	const struct gt_plan *plan;
	struct gt_arena *arena;
	struct gt_link_graph vertices; /* of a cluster */
};

/* A hop as it is listed, or the other way round between the same ranks. */
struct gt_cost_way {
	const struct gt_plan_hop *hop;
	int back;
	uint32_t nodes[2]; /* of the sender and of the receiver */
};

uint32_t gt_cost_uplink(const struct gt_plan *plan, uint32_t level,
			uint32_t node, uint32_t rail, int in)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	uint32_t at = cluster->nnodes * plan->nlinks;

	if (!cluster->levels[level].by_rail)
		rail = 0;
	node /= cluster->levels[level].nodes;
	return at +
	       2 * ((level * cluster->nnodes + node) * cluster->nrails + rail) +
	       (uint32_t)in;
}

uint32_t gt_cost_routes_nlinks(const struct gt_cost_routes *routes)
{
	const struct gt_plan *plan = routes->plan;

	if (!plan->cluster)
		return plan->nlinks;
	return gt_cost_uplink(plan, plan->cluster->nlevels - 1, 0, 0, 0);
}

int gt_cost_routes_new(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_cost_routes **routes, struct gt_err *err)
{
	struct gt_cost_routes *r = gt_arena_alloc(arena, sizeof(*r));

	if (!r)
		return gt_err_nomem(err);
	r->plan = plan;
	r->arena = arena;
	*routes = r;
	return plan->cluster
		       ? gt_link_graph_init(plan, arena, &r->vertices, err)
		       : GT_OK;
}

/* Of the links of a route, the one that takes longest to answer. */
static enum gt_cost_hop gt_cost_kind(const struct gt_plan *plan,
				     const struct gt_plan_hop *hop)
{
	enum gt_cost_hop worst =
		hop->network && hop->transport != GT_TRANSPORT_PEER
			? GT_COST_HOP_NET
			: GT_COST_HOP_NVL;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		const char *kind = plan->links[hop->route[i]].kind;

		for (int k = worst + 1; kind && k < GT_NCOSTHOPS; k++)
			if (!strcmp(kind, gt_cost_hop_name(k)))
				worst = k;
	}
	return worst;
}

static void gt_cost_leg(const struct gt_cost_routes *r, uint32_t node,
			uint32_t link, struct gt_rat charge,
			struct gt_cost_route *route)
{
	const struct gt_plan_link *l = &r->plan->links[link];
	double us = 1 / gt_rat_double(l->gbs) / 1e3;

	if (l->kind && !strcmp(l->kind, "PCI"))
		us *= gt_rat_double(charge);
	route->legs[route->nlegs++] = (struct gt_cost_leg){
		.link = node * r->plan->nlinks + link, .us = us};
}

/* Up from one end's port, and down to the other's, as far as they differ. */
static void gt_cost_climb(const struct gt_cost_routes *r,
			  const struct gt_cost_way *way, uint32_t port, int in,
			  struct gt_cost_route *route)
{
	const struct gt_plan_cluster *cluster = r->plan->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		uint32_t nodes = cluster->levels[l].nodes;

		if (way->nodes[0] / nodes == way->nodes[1] / nodes)
			continue;
		route->legs[route->nlegs++] = (struct gt_cost_leg){
			gt_cost_uplink(r->plan, l, way->nodes[in],
				       cluster->ports[port].rail, in),
			1 / gt_rat_double(cluster->levels[l].gbs) / 1e3};
	}
}

/* The hop's links are the sender's up to a port, the receiver's behind it. */
static void gt_cost_walk(const struct gt_cost_routes *r,
			 const struct gt_cost_way *way,
			 struct gt_cost_route *route)
{
	const struct gt_link_graph *v = &r->vertices;
	const struct gt_plan_hop *hop = way->hop;
	int in = 0;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[way->back ? hop->nroute - 1 - i : i];
		struct gt_rat charge = hop->charge;

		if (way->back)
			link = v->back[link];
		if (link == GT_NO_VERTEX)
			continue;
		if (v->port[v->from[link]] != GT_NO_VERTEX) {
			in = 1;
			gt_cost_climb(r, way, v->port[v->from[link]], 1, route);
		}
		/* The charge is of the side that is listed first. */
		if (hop->network && in != way->back)
			charge = GT_RAT(1, 1);
		gt_cost_leg(r, way->nodes[in], link, charge, route);
		if (v->port[v->to[link]] != GT_NO_VERTEX)
			gt_cost_climb(r, way, v->port[v->to[link]], 0, route);
	}
}

static int gt_cost_route(const struct gt_cost_routes *r,
			 const struct gt_cost_way *way,
			 struct gt_cost_route *route, struct gt_err *err)
{
	const struct gt_plan *plan = r->plan;
	uint32_t most = way->hop->nroute;

	if (plan->cluster)
		most += 2 * plan->cluster->nlevels;
	route->legs = gt_arena_array(r->arena, most, sizeof(*route->legs));
	if (!route->legs)
		return gt_err_nomem(err);
	if (plan->cluster)
		gt_cost_walk(r, way, route);
	for (uint32_t i = 0; i < way->hop->nroute && !plan->cluster; i++)
		gt_cost_leg(r, 0, way->hop->route[i], way->hop->charge, route);
	return GT_OK;
}

/* The channel's hop between two ranks of one node, either way round. */
static const struct gt_plan_hop *gt_cost_local(
	const struct gt_plan_channel *channel, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (!hop->network && hop->from == from && hop->to == to)
			return hop;
	}
	return NULL;
}

/* By which of the channel's network hops do a root's blocks get there? */
static const struct gt_plan_hop *gt_cost_remote(
	const struct gt_plan_channel *channel, uint32_t root, uint32_t from,
	uint32_t to)
{
	const struct gt_plan_template *tree = &channel->templates[root];
	const struct gt_plan_hop *hop = &channel->hops[tree->net[to]];

	return tree->away[to] < 0 && hop->from == from ? hop : NULL;
}

/* A ring's only one to the next node, or a tree's between nodes. */
static const struct gt_plan_hop *gt_cost_onward(
	const struct gt_cost_routes *r, const struct gt_plan_channel *channel,
	const uint32_t ends[2])
{
	uint32_t n = r->plan->cluster->nlocal;
	int odd = ends[0] / n % 2 &&
		  gt_nodes_ring_alternates(r->plan->cluster, channel);
	const struct gt_plan_hop *hop = &channel->hops[odd ? 2 * n - 1 : n - 1];

	if (channel->shape == GT_SHAPE_TREE)
		hop = &channel->hops[channel->nhops - 1];
	return hop->from == ends[0] % n && hop->to == ends[1] % n ? hop : NULL;
}

/* By which a flow's paths cross the network so far, between these two. */
static const struct gt_plan_hop *gt_cost_far(
	const struct gt_plan_cluster *cluster,
	const struct gt_plan_channel *channel, const uint32_t ends[2])
{
	uint32_t n = cluster->nlocal;
	uint32_t class_ = gt_nodes_class(cluster, ends[0] / n, ends[1] / n);

	for (uint32_t p = 0; p < channel->npaths; p++) {
		const struct gt_plan_path *path = &channel->paths[p];

		for (uint32_t k = 0; path->class_ == class_ && k < path->nhops;
		     k++) {
			const struct gt_plan_hop *hop =
				&channel->hops[path->hops[k]];

			if (hop->network && hop->from == ends[0] % n &&
			    hop->to == ends[1] % n)
				return hop;
		}
	}
	return NULL;
}

/* What goes up a template takes its hops the other way. */
static struct gt_cost_way gt_cost_way_of(const struct gt_cost_routes *r,
					 const struct gt_plan_channel *channel,
					 uint32_t root, const uint32_t ends[2])
{
	uint32_t n =
		r->plan->cluster ? r->plan->cluster->nlocal : r->plan->nranks;
	struct gt_cost_way way = {.nodes = {ends[0] / n, ends[1] / n}};
	uint32_t a = ends[0] % n, b = ends[1] % n;

	if (way.nodes[0] != way.nodes[1] && channel->shape == GT_SHAPE_FLOW) {
		way.hop = gt_cost_far(r->plan->cluster, channel, ends);
		return way;
	}
	if (way.nodes[0] != way.nodes[1] && !channel->templates) {
		way.hop = gt_cost_onward(r, channel, ends);
		return way;
	}
	if (way.nodes[0] != way.nodes[1]) {
		way.hop = gt_cost_remote(channel, root, a, b);
		way.back = !way.hop;
		if (way.back)
			way.hop = gt_cost_remote(channel, root, b, a);
		return way;
	}
	way.hop = gt_cost_local(channel, a, b);
	if (!way.hop && channel->templates) {
		way.back = 1;
		way.hop = gt_cost_local(channel, b, a);
	}
	return way;
}

int gt_cost_routes_find(const struct gt_cost_routes *routes, uint32_t channel,
			uint32_t from, uint32_t to, struct gt_cost_edge *edge,
			struct gt_err *err)
{
	const struct gt_plan *plan = routes->plan;
	const struct gt_plan_channel *c = &plan->channels[channel];
	const uint32_t ends[2] = {from, to};
	uint32_t n = 1, found = 0;
	struct gt_cost_route *made;
	int rc = GT_OK;

	/* Over the network it may be other ports for other roots. */
	if (c->templates &&
	    from / plan->cluster->nlocal != to / plan->cluster->nlocal)
		n = plan->cluster->nlocal;
	made = gt_arena_array(routes->arena, n, sizeof(*made));
	if (!made)
		return gt_err_nomem(err);
	edge->nroutes = n;
	edge->routes = made;
	edge->kind = GT_COST_HOP_NVL;
	for (uint32_t i = 0; i < n && from != to && !rc; i++) {
		struct gt_cost_way way = gt_cost_way_of(routes, c, i, ends);

		if (!way.hop)
			continue;
		found = 1;
		edge->kind = gt_cost_kind(plan, way.hop);
		rc = gt_cost_route(routes, &way, &made[i], err);
	}
	if (!rc && !found && from != to)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"channel %u: rank %u sends to rank %u, but "
				"there is no such hop",
				c->id, from, to);
	return rc;
}
