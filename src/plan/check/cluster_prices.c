/*
 * A cluster's certificate of prices: they are read, their sum over all capacity
 * is compared with the bound, and rings through a node are searched for one
 * that costs less than 1.  The world outside is one more place of such a ring,
 * reached and left by the cheapest ports: of any rail, or of one rail at a
 * time.  Costs are by place, from * (nlocal + 1) + to, the world last.
 */
#include "plan/check/cluster_prices.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/cluster_routes.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum { GT_PRICES_UNIT_BITS = 58 };

static struct gt_rat gt_prices_capacity(const struct gt_plan *plan,
					uint32_t link)
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	if (link < plan->nlinks)
		return plan->links[link].gbs;
	return cluster->levels[(link - plan->nlinks) / 2 / cluster->nrails].gbs;
}

/*
 * Prices by link and uplink; their sum over all capacity has to be the bound.
 */
static int gt_prices_read(struct gt_cluster_prices *p, struct gt_err *err)
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
		if (!gt_rat_mul(price->price,
				gt_prices_capacity(plan, price->link), &term) ||
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

/*
 * Add the uplinks up and down all levels, in the rail of the port by which a
 * node is entered.  The result is 0 when the sum does not fit.
 */
static int gt_prices_uplinks(const struct gt_cluster_prices *p, uint32_t port,
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

/*
 * The cost of leaving the node from a rank or, with `in`, of entering it, by
 * the cheapest port that may be taken; 1 where there is none.
 */
static int gt_prices_cheapest_port(const struct gt_cluster_prices *p,
				   uint32_t rank, uint32_t rail, int in,
				   struct gt_rat *best)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	uint32_t n = cluster->nlocal, m = p->routes.places;

	*best = GT_RAT(1, 1);
	for (uint32_t i = 0; i < cluster->nports; i++) {
		const struct gt_plan_route *route =
			in ? p->routes.table[(n + i) * m + rank]
			   : p->routes.table[rank * m + n + i];
		struct gt_rat cost;

		if (!route || (gt_nodes_ring_keeps_rail(cluster) &&
			       cluster->ports[i].rail != rail))
			continue;
		if (!gt_check_route_cost(p->plan, route, p->prices, &cost) ||
		    (in && !gt_prices_uplinks(p, i, &cost)))
			return 0;
		if (gt_rat_cmp(cost, *best) < 0)
			*best = cost;
	}
	return 1;
}

static int gt_prices_costs(const struct gt_cluster_prices *p, uint32_t rail)
{
	uint32_t n = p->plan->cluster->nlocal, m = p->routes.places;

	for (uint32_t i = 0; i < (n + 1) * (n + 1); i++) {
		uint32_t from = i / (n + 1), to = i % (n + 1);
		int ok = 1;

		p->costs[i] = GT_RAT(0, 1);
		if (from < n && to < n && from != to)
			ok = gt_check_route_cost(p->plan,
						 p->routes.table[from * m + to],
						 p->prices, &p->costs[i]);
		else if (from != to)
			ok = gt_prices_cheapest_port(p, from < n ? from : to,
						     rail, from == n,
						     &p->costs[i]);
		if (!ok)
			return 0;
	}
	return 1;
}

static int gt_prices_prove(struct gt_cluster_prices *p, struct gt_arena *arena,
			   enum gt_bound_state *state, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	uint32_t n = cluster->nlocal + 1;
	uint32_t rails =
		gt_nodes_ring_keeps_rail(cluster) ? cluster->nrails : 1;
	enum gt_bound_state one = GT_BOUND_PROVEN;
	struct gt_hop_costs costs = {
		.most = 1, .unit_max = (int64_t)1 << GT_PRICES_UNIT_BITS};
	int rc = GT_OK;

	costs.cost = gt_arena_array(arena, (size_t)n * n, sizeof(*costs.cost));
	if (!costs.cost)
		return gt_err_nomem(err);
	*state = GT_BOUND_PROVEN;
	for (uint32_t r = 0; r < rails && !rc; r++) {
		costs.unit = 0;
		if (gt_prices_costs(p, r))
			gt_check_scale(p->costs, n * n, &costs);
		rc = gt_check_ring_costs(p->plan, n, &costs, &one, err);
		if (one != GT_BOUND_PROVEN)
			*state = one;
	}
	return rc;
}

int gt_check_cluster_prices(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_plan_report *report, struct gt_err *err)
{
	size_t n = plan->cluster->nlocal + 1;
	size_t nprices = plan->nlinks + gt_nodes_nuplinks(plan->cluster);
	struct gt_cluster_prices p = {.plan = plan};
	int rc;

	p.prices = gt_arena_array(arena, nprices + 1, sizeof(*p.prices));
	p.costs = gt_arena_array(arena, n * n, sizeof(*p.costs));
	if (!p.prices || !p.costs)
		return gt_err_nomem(err);
	rc = gt_prices_read(&p, err);
	if (!rc && !plan->proof.nroutes) {
		report->bound = GT_BOUND_NO_ROUTES;
		return GT_OK;
	}
	if (!rc)
		rc = gt_check_cluster_routes(plan, vertices, arena, &p.routes,
					     err);
	if (rc)
		return rc;
	return gt_coll_only_moves(plan->coll)
		       ? gt_check_cluster_lengths(&p, arena, &report->bound,
						  err)
		       : gt_prices_prove(&p, arena, &report->bound, err);
}
