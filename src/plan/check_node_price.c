#include "plan/check_cluster.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check.h"
#include "plan/cluster.h"
#include "plan/plan.h"
#include "plan/vertex.h"

/*
 * The world outside is one more place of a ring through a node, reached and
 * left by the cheapest ports: of any, or of one rail at a time.  Costs are by
 * place, from * (nlocal + 1) + to, the world last.
 */
struct gt_node_prices {
	const struct gt_plan *plan;
	const struct gt_vertices *vertices;
	struct gt_rat *prices; /* of links, then uplinks */
	/* [from * (nlocal + nports) + to]: ranks, then ports */
	const struct gt_plan_route **table;
	struct gt_rat *costs;
};

enum { GT_NODE_UNIT_BITS = 58 };

static uint32_t gt_node_places(const struct gt_plan *plan)
{
	return plan->cluster->nlocal + plan->cluster->nports;
}

/* A rank's vertex, or a port's. */
static uint32_t gt_node_vertex(const struct gt_node_prices *p, uint32_t place)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;

	if (place < cluster->nlocal)
		return p->vertices->rank[place];
	return gt_vertices_find(p->vertices,
				cluster->ports[place - cluster->nlocal].id);
}

/* Links that lead from the one to the other, at a charge that ends at ports. */
static const char *gt_node_route_fault(const struct gt_node_prices *p,
				       const struct gt_plan_route *route)
{
	uint32_t n = p->plan->cluster->nlocal, at;

	if (route->from >= n && route->to >= n)
		return "does not lead from or to a rank";
	if (route->from == route->to ||
	    p->table[route->from * gt_node_places(p->plan) + route->to])
		return "does not lead anywhere, or is a second one";
	if (gt_rat_cmp(route->charge, GT_RAT(1, 1)) < 0 ||
	    (route->from >= n && gt_rat_cmp(route->charge, GT_RAT(1, 1))))
		return "has a charge of less than 1, or one behind a port";
	at = gt_node_vertex(p, route->from);
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (link >= p->plan->nlinks || p->vertices->from[link] != at)
			return "has links that do not meet";
		at = p->vertices->to[link];
	}
	if (at == GT_NO_VERTEX || at != gt_node_vertex(p, route->to))
		return "does not lead there";
	return NULL;
}

/* All pairs of ranks; and of ranks and ports those that rings may use. */
static int gt_node_routes(struct gt_node_prices *p, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &p->plan->proof;
	uint32_t n = p->plan->cluster->nlocal, m = gt_node_places(p->plan);
	const char *fault;

	for (uint32_t i = 0; i < proof->nroutes; i++) {
		const struct gt_plan_route *route = &proof->routes[i];

		fault = route->from < m && route->to < m
				? gt_node_route_fault(p, route)
				: "leads nowhere";
		if (fault)
			return gt_plan_wrong(
				p->plan,
				gt_plan_at("proof.certificate.routes[%u]", i),
				err, "%s", fault);
		p->table[route->from * m + route->to] = route;
	}
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n && !p->table[i / n * m + i % n])
			return gt_plan_wrong(
				p->plan, gt_plan_at("proof.certificate.routes"),
				err, "none leads from %u to %u", i / n, i % n);
	return GT_OK;
}

/* Links of the hop from the first-th on are those of the route. */
static int gt_node_follows(const struct gt_plan_hop *hop, uint32_t first,
			   const struct gt_plan_route *route)
{
	if (!route || first + route->nlinks > hop->nroute)
		return 0;
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (hop->route[first + k] != route->links[k])
			return 0;
	return 1;
}

/* The proof speaks of these routes only, so the plan must use no others. */
static int gt_node_hop_routes(const struct gt_node_prices *p,
			      const struct gt_plan_hop *hop)
{
	const struct gt_vertices *v = p->vertices;
	uint32_t n = p->plan->cluster->nlocal, m = gt_node_places(p->plan);
	const struct gt_plan_route *out = p->table[hop->from * m + hop->to],
				   *in = NULL;

	for (uint32_t k = 0; k + 1 < hop->nroute && hop->network; k++) {
		uint32_t end = v->port[v->to[hop->route[k]]];

		if (end == GT_NO_VERTEX)
			continue;
		out = p->table[hop->from * m + n + end];
		end = v->port[v->from[hop->route[k + 1]]];
		in = p->table[(n + end) * m + hop->to];
		if (!gt_node_follows(hop, k + 1, in))
			return 0;
	}
	return gt_node_follows(hop, 0, out) &&
	       hop->nroute == out->nlinks + (in ? in->nlinks : 0) &&
	       !gt_rat_cmp(hop->charge, out->charge);
}

static int gt_node_used(const struct gt_node_prices *p, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main(p->plan);

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&p->plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nhops; i++)
			if (!gt_node_hop_routes(p, &channel->hops[i]))
				return gt_plan_wrong(
					p->plan,
					gt_plan_at("channels[%u].hops[%u]",
						   row->channels[c], i),
					err,
					"route or charge is not that of the "
					"proof's routes");
	}
	return GT_OK;
}

static struct gt_rat gt_node_gbs(const struct gt_plan *plan, uint32_t link)
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	if (link < plan->nlinks)
		return plan->links[link].gbs;
	return cluster->levels[(link - plan->nlinks) / 2 / cluster->nrails].gbs;
}

/* By link and uplink; their sum over all capacity is the bound. */
static int gt_node_sum(struct gt_node_prices *p, struct gt_err *err)
{
	const struct gt_plan *plan = p->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	struct gt_plan_at at = gt_plan_at("proof.certificate.prices");
	uint32_t n = plan->nlinks + gt_nodes_nuplinks(plan->cluster);
	struct gt_rat sum = GT_RAT(0, 1), term;

	for (uint32_t i = 0; i < n; i++)
		p->prices[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < proof->nprices; i++) {
		const struct gt_plan_price *price = &proof->prices[i];

		if (price->link >= n || price->price.num < 0 ||
		    p->prices[price->link].num)
			return gt_plan_wrong(plan, at, err,
					     "price number %u is negative, "
					     "twice or of no link",
					     i);
		p->prices[price->link] = price->price;
		if (!gt_rat_mul(price->price, gt_node_gbs(plan, price->link),
				&term) ||
		    !gt_rat_add(sum, term, &sum))
			return gt_plan_wrong(plan, at, err,
					     "their sum over the capacities "
					     "needs more than 64 bits");
	}
	if (!gt_rat_cmp(sum, proof->bound))
		return GT_OK;
	return gt_plan_wrong(plan, at, err,
			     "do not sum over the capacities to the bound");
}

/* Up and down all levels, in the rail of the port by which a node is entered */
static int gt_node_across(const struct gt_node_prices *p, uint32_t port,
			  struct gt_rat *cost)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		for (int in = 0; in < 2; in++) {
			uint32_t up = gt_nodes_uplink(
				cluster, l, cluster->ports[port].rail, in);

			if (cluster->levels[l].nodes < cluster->nnodes &&
			    !gt_rat_add(*cost, p->prices[p->plan->nlinks + up],
					cost))
				return 0;
		}
	return 1;
}

/* The cheapest of the rail's ports, or of all; 1 where there is none. */
static int gt_node_door(const struct gt_node_prices *p, uint32_t rank,
			uint32_t rail, int in, struct gt_rat *best)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	uint32_t n = cluster->nlocal, m = gt_node_places(p->plan);

	*best = GT_RAT(1, 1);
	for (uint32_t i = 0; i < cluster->nports; i++) {
		const struct gt_plan_route *route =
			in ? p->table[(n + i) * m + rank]
			   : p->table[rank * m + n + i];
		struct gt_rat cost;

		if (!route || (gt_nodes_one_rail(cluster) &&
			       cluster->ports[i].rail != rail))
			continue;
		if (!gt_check_route_cost(p->plan, route, p->prices, &cost) ||
		    (in && !gt_node_across(p, i, &cost)))
			return 0;
		if (gt_rat_cmp(cost, *best) < 0)
			*best = cost;
	}
	return 1;
}

static int gt_node_costs(const struct gt_node_prices *p, uint32_t rail)
{
	uint32_t n = p->plan->cluster->nlocal, m = gt_node_places(p->plan);

	for (uint32_t i = 0; i < (n + 1) * (n + 1); i++) {
		uint32_t from = i / (n + 1), to = i % (n + 1);
		int ok = 1;

		p->costs[i] = GT_RAT(0, 1);
		if (from < n && to < n && from != to)
			ok = gt_check_route_cost(p->plan,
						 p->table[from * m + to],
						 p->prices, &p->costs[i]);
		else if (from != to)
			ok = gt_node_door(p, from < n ? from : to, rail,
					  from == n, &p->costs[i]);
		if (!ok)
			return 0;
	}
	return 1;
}

static int gt_node_prove(struct gt_node_prices *p, struct gt_arena *arena,
			 enum gt_bound_state *state, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	uint32_t n = cluster->nlocal + 1;
	uint32_t rails = gt_nodes_one_rail(cluster) ? cluster->nrails : 1;
	enum gt_bound_state one = GT_BOUND_PROVEN;
	struct gt_hop_costs costs = {
		.most = 1, .unit_max = (int64_t)1 << GT_NODE_UNIT_BITS};
	int rc = GT_OK;

	costs.cost = gt_arena_array(arena, (size_t)n * n, sizeof(*costs.cost));
	if (!costs.cost)
		return gt_err_nomem(err);
	*state = GT_BOUND_PROVEN;
	for (uint32_t r = 0; r < rails && !rc; r++) {
		costs.unit = 0;
		if (gt_node_costs(p, r))
			gt_check_scale(p->costs, n * n, &costs);
		rc = gt_check_ring_costs(p->plan, n, &costs, &one, err);
		if (one != GT_BOUND_PROVEN)
			*state = one;
	}
	return rc;
}

int gt_check_node_prices(const struct gt_plan *plan,
			 const struct gt_vertices *vertices,
			 struct gt_arena *arena, struct gt_plan_report *report,
			 struct gt_err *err)
{
	size_t n = plan->cluster->nlocal + 1, m = gt_node_places(plan);
	size_t nprices = plan->nlinks + gt_nodes_nuplinks(plan->cluster);
	struct gt_node_prices p = {.plan = plan, .vertices = vertices};
	int rc;

	p.prices = gt_arena_array(arena, nprices + 1, sizeof(*p.prices));
	p.table = gt_arena_array(arena, m * m, sizeof(*p.table));
	p.costs = gt_arena_array(arena, n * n, sizeof(*p.costs));
	if (!p.prices || !p.table || !p.costs)
		return gt_err_nomem(err);
	rc = gt_node_sum(&p, err);
	if (!rc && !plan->proof.nroutes) {
		report->bound = GT_BOUND_NO_ROUTES;
		return GT_OK;
	}
	if (!rc)
		rc = gt_node_routes(&p, err);
	if (!rc)
		rc = gt_node_used(&p, err);
	return rc ? rc : gt_node_prove(&p, arena, &report->bound, err);
}
