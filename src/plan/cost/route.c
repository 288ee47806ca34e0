/*
 * The links that an edge between two ranks crosses: a hop of the channel and,
 * in a cluster, the uplinks between the two nodes' ports.
 */
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
	struct gt_link_graph vertices; /* of a cluster's node */
	int is_staged;                 /* all goes through the host's memory */
};

/*
 * A hop between two nodes or ranks, taken as it is listed or the other way
 * round.
 */
struct gt_cost_crossing {
	const struct gt_plan_hop *hop;
	int back;
	uint32_t nodes[2]; /* those of the sender and of the receiver */
};

/* Two ranks, and the root of the template's block that one sends the other. */
struct gt_cost_query {
	uint32_t ends[2], root;
	int up; /* towards the root */
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
		return routes->is_staged ? 2 * plan->nlinks : plan->nlinks;
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
	r->is_staged = !plan->cluster && gt_plan_is_staged(plan);
	*routes = r;
	return plan->cluster
		       ? gt_link_graph_init(plan, arena, &r->vertices, err)
		       : GT_OK;
}

/*
 * The kind of the hop: that of the link on its route that takes longest to
 * answer.
 */
static enum gt_cost_hop gt_cost_kind(const struct gt_plan *plan,
				     const struct gt_plan_hop *hop)
{
	enum gt_cost_hop worst =
		hop->network && hop->transport != GT_TRANSPORT_PEER
			? GT_COST_HOP_NET
			: GT_COST_HOP_NVL;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		const char *kind = plan->links[hop->route[i]].kind;

		for (int k = worst + 1; kind && k < GT_COST_HOP_HOST; k++)
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

/* The vertex that a link leads to, by its id. */
static const char *gt_cost_head(const struct gt_plan *plan, uint32_t link)
{
	const char *head = strchr(plan->links[link].id, '>');

	return head ? head + 1 : "";
}

static int gt_cost_leads(const struct gt_plan *plan, uint32_t link,
			 const char *from, size_t len, const char *to)
{
	const char *id = plan->links[link].id;

	return !strncmp(id, from, len) && id[len] == '>' &&
	       !strcmp(gt_cost_head(plan, link), to);
}

/* The link that leads the other way, or GT_NO_VERTEX. */
static uint32_t gt_cost_back(const struct gt_plan *plan, uint32_t link)
{
	const char *id = plan->links[link].id, *head = gt_cost_head(plan, link);
	size_t len = strcspn(id, ">");

	for (uint32_t l = 0; l < plan->nlinks; l++) {
		const char *to = gt_cost_head(plan, l);

		if (!strncmp(to, id, len) && !to[len] &&
		    gt_cost_leads(plan, l, head, strlen(head), to))
			return l;
	}
	return GT_NO_VERTEX;
}

static int gt_cost_is_memory(const struct gt_plan *plan, uint32_t link)
{
	const char *kind = plan->links[link].kind;

	return kind && !strcmp(kind, "MEM");
}

/*
 * A leg through the host's memory.  Out and in at once PCIe carries less than
 * twice what it carries in one direction, so both directions together are a
 * link of their own, behind all others, with the number of the first of the
 * two.
 */
static void gt_cost_host_leg(const struct gt_cost_routes *r, uint32_t link,
			     struct gt_rat charge, struct gt_cost_route *route)
{
	const struct gt_plan *plan = r->plan;
	const char *kind = plan->links[link].kind;
	struct gt_cost_leg *leg = &route->legs[route->nlegs];
	uint32_t back;

	gt_cost_leg(r, 0, link, charge, route);
	/* What memory carries is given; flags take their part of it, too. */
	if (gt_cost_is_memory(plan, link))
		return;
	leg->rate = GT_COST_RATE_HOST;
	if (!kind || strcmp(kind, "PCI") != 0)
		return;
	leg->rate = GT_COST_RATE_ONE_WAY;
	back = gt_cost_back(plan, link);
	route->legs[route->nlegs++] = (struct gt_cost_leg){
		.link = plan->nlinks + (back < link ? back : link),
		.rate = GT_COST_RATE_HOST,
		.us = leg->us / 2};
}

/*
 * Add the uplinks from the sender's port up or, with `in`, down to the
 * receiver's, as far as their switches differ.
 */
static void gt_cost_climb(const struct gt_cost_routes *r,
			  const struct gt_cost_crossing *crossing,
			  uint32_t port, int in, struct gt_cost_route *route)
{
	const struct gt_plan_cluster *cluster = r->plan->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		uint32_t nodes = cluster->levels[l].nodes;

		if (crossing->nodes[0] / nodes == crossing->nodes[1] / nodes)
			continue;
		route->legs[route->nlegs++] = (struct gt_cost_leg){
			.link = gt_cost_uplink(r->plan, l, crossing->nodes[in],
					       cluster->ports[port].rail, in),
			.us = 1 / gt_rat_double(cluster->levels[l].gbs) / 1e3};
	}
}

/*
 * Add a hop's links.  They are the sender's up to a port, and the receiver's
 * behind it.
 */
static void gt_cost_walk(const struct gt_cost_routes *r,
			 const struct gt_cost_crossing *crossing,
			 struct gt_cost_route *route)
{
	const struct gt_link_graph *v = &r->vertices;
	const struct gt_plan_hop *hop = crossing->hop;
	int in = 0;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link =
			hop->route[crossing->back ? hop->nroute - 1 - i : i];
		struct gt_rat charge = hop->charge;

		if (crossing->back)
			link = v->back[link];
		if (link == GT_NO_VERTEX)
			continue;
		if (v->port[v->from[link]] != GT_NO_VERTEX) {
			in = 1;
			gt_cost_climb(r, crossing, v->port[v->from[link]], 1,
				      route);
		}
		/* The charge is for the side that is listed first. */
		if (hop->network && in != crossing->back)
			charge = GT_RAT(1, 1);
		gt_cost_leg(r, crossing->nodes[in], link, charge, route);
		if (v->port[v->to[link]] != GT_NO_VERTEX)
			gt_cost_climb(r, crossing, v->port[v->to[link]], 0,
				      route);
	}
}

static int gt_cost_is_cpu(const char *vertex)
{
	return !strncmp(vertex, "CPU/", 4);
}

/*
 * A hop by the host's memory that leads from the rank, or to it; NULL: there is
 * none.
 */
static const struct gt_plan_hop *gt_cost_staged_hop(const struct gt_plan *plan,
						    uint32_t rank, int to)
{
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++) {
			const struct gt_plan_hop *hop =
				&plan->channels[c].hops[i];

			if (hop->transport == GT_TRANSPORT_SHM &&
			    (to ? hop->to : hop->from) == rank)
				return hop;
		}
	return NULL;
}

/*
 * Two GPUs that reach each other, beside others that do not: their bytes go
 * through the host's memory as well, up as the sender's other ones do, over the
 * sockets' interconnect, and through memory and down as the receiver's do.
 */
static void gt_cost_detour(const struct gt_cost_routes *r,
			   const struct gt_plan_hop *const ends[2],
			   struct gt_cost_route *route)
{
	const struct gt_plan *plan = r->plan;
	const char *here = "", *there;
	uint32_t i = 0, down = ends[1]->nroute;
	size_t len;

	while (i < ends[0]->nroute && !gt_cost_is_cpu(here)) {
		here = gt_cost_head(plan, ends[0]->route[i]);
		gt_cost_host_leg(r, ends[0]->route[i++], GT_RAT(1, 1), route);
	}
	while (down &&
	       !gt_cost_is_cpu(gt_cost_head(plan, ends[1]->route[down - 1])))
		down--;
	if (down > 1 && gt_cost_is_memory(plan, ends[1]->route[down - 1]))
		down -= 2;
	there = down ? gt_cost_head(plan, ends[1]->route[down - 1]) : here;
	len = strlen(here);
	for (uint32_t l = 0; l < plan->nlinks && strcmp(here, there) != 0; l++)
		if (gt_cost_leads(plan, l, here, len, there))
			gt_cost_host_leg(r, l, GT_RAT(1, 1), route);
	for (; down < ends[1]->nroute; down++)
		gt_cost_host_leg(r, ends[1]->route[down], GT_RAT(1, 1), route);
}

/* Does what takes the hop wait in the host's memory?  Networks pass it on. */
static int gt_cost_waits(const struct gt_cost_routes *r,
			 const struct gt_plan_hop *hop)
{
	return r->is_staged && (hop->transport == GT_TRANSPORT_SHM ||
				hop->transport == GT_TRANSPORT_PEER);
}

/*
 * A hop of a staged plan: as it is listed where the two have no peer access.
 * Engines stage all hops as soon as one has to be (docs/design/
 * engine-gpu-staged.md).
 */
static int gt_cost_stage(const struct gt_cost_routes *r,
			 const struct gt_plan_hop *hop,
			 struct gt_cost_route *route, struct gt_err *err)
{
	const struct gt_plan_hop *const ends[2] = {
		gt_cost_staged_hop(r->plan, hop->from, 0),
		gt_cost_staged_hop(r->plan, hop->to, 1)};
	int around = hop->transport != GT_TRANSPORT_SHM && ends[0] && ends[1];
	uint32_t most = hop->nroute;

	if (around)
		most = ends[0]->nroute + ends[1]->nroute + 1;
	route->legs = gt_arena_array(r->arena, 2 * (size_t)most,
				     sizeof(*route->legs));
	if (!route->legs)
		return gt_err_nomem(err);
	if (around)
		gt_cost_detour(r, ends, route);
	for (uint32_t i = 0; i < hop->nroute && !around; i++)
		gt_cost_host_leg(r, hop->route[i], hop->charge, route);
	return GT_OK;
}

static int gt_cost_route(const struct gt_cost_routes *r,
			 const struct gt_cost_crossing *crossing,
			 struct gt_cost_route *route, struct gt_err *err)
{
	const struct gt_plan *plan = r->plan;
	uint32_t most = crossing->hop->nroute;

	if (gt_cost_waits(r, crossing->hop))
		return gt_cost_stage(r, crossing->hop, route, err);

	if (plan->cluster)
		most += 2 * plan->cluster->nlevels;
	route->legs = gt_arena_array(r->arena, most, sizeof(*route->legs));
	if (!route->legs)
		return gt_err_nomem(err);
	if (plan->cluster)
		gt_cost_walk(r, crossing, route);
	for (uint32_t i = 0; i < crossing->hop->nroute && !plan->cluster; i++)
		gt_cost_leg(r, 0, crossing->hop->route[i],
			    crossing->hop->charge, route);
	return GT_OK;
}

/* The channel's hop from one rank of a node to another, or NULL. */
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

/*
 * The network hop of the channel by which the blocks of a root get to rank
 * `to`, or NULL when that is from another rank.
 */
static const struct gt_plan_hop *gt_cost_remote(
	const struct gt_plan_channel *channel, uint32_t root, uint32_t from,
	uint32_t to)
{
	const struct gt_plan_template *tree = &channel->templates[root];
	const struct gt_plan_hop *hop = &channel->hops[tree->net[to]];

	return tree->away[to] < 0 && hop->from == from ? hop : NULL;
}

/*
 * The network hop of a ring, which leads to the next node, or of a tree; NULL
 * when it does not join these two ranks.
 */
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

/*
 * The network hop of a flow's paths between two ranks of nodes so far apart, or
 * NULL.
 */
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

/*
 * The hop between two ranks; what goes up a template takes its hops the other
 * way round.
 */
static struct gt_cost_crossing gt_cost_template_crossing(
	const struct gt_cost_routes *r, const struct gt_plan_channel *channel,
	const struct gt_cost_query *query)
{
	uint32_t n = r->plan->cluster->nlocal;
	struct gt_cost_crossing crossing = {
		.nodes = {query->ends[0] / n, query->ends[1] / n},
		.back = query->up};
	uint32_t from = query->ends[query->up] % n;
	uint32_t to = query->ends[!query->up] % n;

	if (crossing.nodes[0] == crossing.nodes[1])
		crossing.hop = gt_cost_local(channel, from, to);
	else
		crossing.hop = gt_cost_remote(channel, query->root, from, to);
	return crossing;
}

static struct gt_cost_crossing gt_cost_crossing_of(
	const struct gt_cost_routes *r, const struct gt_plan_channel *channel,
	const uint32_t ends[2])
{
	uint32_t n =
		r->plan->cluster ? r->plan->cluster->nlocal : r->plan->nranks;
	struct gt_cost_crossing crossing = {
		.nodes = {ends[0] / n, ends[1] / n}};
	uint32_t a = ends[0] % n, b = ends[1] % n;

	if (crossing.nodes[0] != crossing.nodes[1] &&
	    channel->shape == GT_SHAPE_FLOW) {
		crossing.hop = gt_cost_far(r->plan->cluster, channel, ends);
		return crossing;
	}
	if (crossing.nodes[0] != crossing.nodes[1])
		crossing.hop = gt_cost_onward(r, channel, ends);
	else
		crossing.hop = gt_cost_local(channel, a, b);
	return crossing;
}

int gt_cost_routes_find(const struct gt_cost_routes *routes, uint32_t channel,
			uint32_t from, uint32_t to, struct gt_cost_edge *edge,
			struct gt_err *err)
{
	const struct gt_plan *plan = routes->plan;
	const struct gt_plan_channel *c = &plan->channels[channel];
	struct gt_cost_query query = {.ends = {from, to},
				      .up = edge->tag == GT_TEMPLATE_UP};
	uint32_t n = 1, found = 0;
	struct gt_cost_route *made;
	int rc = GT_OK;

	/* Over the network the blocks of other roots may take other ports. */
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
		struct gt_cost_crossing crossing;

		query.root = i;
		crossing =
			c->templates
				? gt_cost_template_crossing(routes, c, &query)
				: gt_cost_crossing_of(routes, c, query.ends);
		if (!crossing.hop)
			continue;
		found = 1;
		edge->kind = gt_cost_waits(routes, crossing.hop)
				     ? GT_COST_HOP_HOST
				     : gt_cost_kind(plan, crossing.hop);
		rc = gt_cost_route(routes, &crossing, &made[i], err);
	}
	if (!rc && !found && from != to)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"channel %u: rank %u sends to rank %u, but "
				"there is no such hop",
				c->id, from, to);
	return rc;
}
