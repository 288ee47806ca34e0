/*
 * The bound about rings: under the certificate's prices every ring costs 1 or
 * more.  Small plans are searched for the cheapest ring; for larger ones a
 * simple lower bound may be enough.  Where the number of channels is limited, a
 * ring also pays for its channel.
 */
#include "plan/check/bounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/plan.h"

/*
 * Costs are whole multiples of 1 / unit; with this unit the sum of a ring of
 * GT_RING_MAX hops still fits.
 */
static const int64_t gt_unit_max = (int64_t)1 << 58;

struct gt_ring_check {
	const struct gt_plan *plan;
	const struct gt_plan_route **table;
	struct gt_hop_costs costs;
	/* [from * n + to]: a hop's room, for channel prices */
	struct gt_rat *rooms;
	/* the costs, with hops that lack room as dear as a unit */
	int64_t *wide;
	int64_t *closed; /* costs by way of a rank between where that is less */
};

/*
 * Does every ring cost `need` or more because it leaves every rank once, by its
 * cheapest hop at least?
 */
static int gt_ring_cheap_bound(uint32_t n, const int64_t *cost, int64_t need)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < n && sum < need; i++) {
		int64_t least = need;

		for (uint32_t j = 0; j < n; j++)
			if (i != j && cost[i * n + j] < least)
				least = cost[i * n + j];
		sum += least;
	}
	return sum >= need;
}

/*
 * Every ring has to cost `least` units or more; it pays `besides` for its
 * channel, which messages add.
 */
struct gt_ring_need {
	int64_t least;
	double besides;
};

static int gt_check_cheapest(const struct gt_plan *plan, uint32_t n,
			     const struct gt_hop_costs *costs,
			     struct gt_ring_need need, struct gt_err *err)
{
	uint32_t order[GT_RING_MAX];
	int64_t least = gt_ring_cheapest(n, costs->cost, order);
	char ring[GT_RING_MAX * 4] = "";
	size_t len = 0;

	if (least < 0)
		return gt_err_nomem(err);
	if (least >= need.least)
		return GT_OK;
	for (uint32_t i = 0; i < n; i++)
		len += (size_t)snprintf(ring + len, sizeof(ring) - len, "%s%u",
					i ? " " : "", order[i]);
	return gt_plan_wrong(
		plan, gt_plan_at("proof.certificate.prices"), err,
		"prove nothing: the ring %s costs less than 1 "
		"(%.6g)",
		ring, need.besides + (double)least / (double)costs->unit);
}

/*
 * Where the proof is about relays, too, a hop costs what it does the cheapest
 * way; these costs are in check->closed then.
 */
static struct gt_hop_costs gt_ring_relayed(const struct gt_ring_check *check,
					   struct gt_hop_costs costs)
{
	uint32_t n = check->plan->nranks;
	const int64_t *cost = costs.cost;

	if (!check->plan->proof.relays)
		return costs;
	for (uint32_t i = 0; i < n * n; i++) {
		check->closed[i] = cost[i];
		for (uint32_t v = 0; v < n; v++) {
			int64_t sum = cost[i / n * n + v] + cost[v * n + i % n];

			if (v != i / n && v != i % n && sum < check->closed[i])
				check->closed[i] = sum;
		}
	}
	costs.cost = check->closed;
	return costs;
}

/* Check that no ring costs less than `need`. */
static int gt_check_need(const struct gt_plan *plan, uint32_t n,
			 const struct gt_hop_costs *costs,
			 struct gt_ring_need need, enum gt_bound_state *state,
			 struct gt_err *err)
{
	if (gt_ring_cheap_bound(n, costs->cost, need.least))
		return GT_OK;
	if (n <= GT_RING_MAX)
		return gt_check_cheapest(plan, n, costs, need, err);
	*state = GT_BOUND_TOO_MANY;
	return GT_OK;
}

int gt_check_ring_costs(const struct gt_plan *plan, uint32_t n,
			const struct gt_hop_costs *costs,
			enum gt_bound_state *state, struct gt_err *err)
{
	struct gt_ring_need need = {costs->unit, 0};

	*state = GT_BOUND_PROVEN;
	if (costs->unit)
		return gt_check_need(plan, n, costs, need, state, err);
	*state = GT_BOUND_TOO_FINE;
	return GT_OK;
}

/* The room of a route: the least capacity over charge of its links. */
static int gt_check_room(const struct gt_plan *plan,
			 const struct gt_plan_route *route, struct gt_rat *room)
{
	struct gt_rat one;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (!gt_rat_div(plan->links[link].gbs,
				gt_plan_link_charge(plan, link, route->charge),
				&one))
			return 0;
		if (!k || gt_rat_cmp(one, *room) < 0)
			*room = one;
	}
	return route->nlinks > 0;
}

static int gt_check_rooms(struct gt_ring_check *check)
{
	uint32_t n = check->plan->nranks;

	for (uint32_t i = 0; i < n * n; i++)
		if (check->table[i] &&
		    !gt_check_room(check->plan, check->table[i],
				   &check->rooms[i]))
			return 0;
	return 1;
}

/*
 * A ring of this room or more has to cost 1 less what its channel costs.  It
 * cannot use hops that are narrower.
 */
static int gt_check_of_room(struct gt_ring_check *check, struct gt_rat room,
			    enum gt_bound_state *state, struct gt_err *err)
{
	uint32_t n = check->plan->nranks;
	int64_t unit = check->costs.unit;
	struct gt_hop_costs wide = check->costs;
	struct gt_rat need;
	__int128 whole;

	if (room.num <= 0)
		return GT_OK;
	if (!gt_rat_div(check->plan->proof.channel_price, room, &need) ||
	    !gt_rat_sub(GT_RAT(1, 1), need, &need)) {
		*state = GT_BOUND_TOO_FINE;
		return GT_OK;
	}
	if (need.num <= 0)
		return GT_OK;
	whole = ((__int128)need.num * unit + need.den - 1) / need.den;
	for (uint32_t i = 0; i < n * n; i++)
		check->wide[i] =
			check->table[i] && gt_rat_cmp(check->rooms[i], room) < 0
				? unit
				: check->costs.cost[i];
	wide.cost = check->wide;
	wide = gt_ring_relayed(check, wide);
	return gt_check_need(
		check->plan, n, &wide,
		(struct gt_ring_need){(int64_t)whole, 1 - gt_rat_double(need)},
		state, err);
}

static int gt_check_each_room(struct gt_ring_check *check,
			      enum gt_bound_state *state, struct gt_err *err)
{
	uint32_t n = check->plan->nranks;
	int rc = GT_OK;

	if (!gt_check_rooms(check)) {
		*state = GT_BOUND_TOO_FINE;
		return GT_OK;
	}
	for (uint32_t i = 0; i < n * n && !rc; i++) {
		int seen = !check->table[i];

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = check->table[k] &&
			       !gt_rat_cmp(check->rooms[k], check->rooms[i]);
		if (!seen)
			rc = gt_check_of_room(check, check->rooms[i], state,
					      err);
	}
	return rc;
}

/*
 * Costs of 1 or more count as 1, since the question is whether a ring costs
 * less than that.
 */
static int gt_check_rings(struct gt_ring_check *check,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	struct gt_hop_costs costs;

	gt_check_costs(plan, check->table, prices, &check->costs);
	costs = gt_ring_relayed(check, check->costs);
	if (!plan->proof.max_channels || !check->costs.unit)
		return gt_check_ring_costs(plan, plan->nranks, &costs, state,
					   err);
	*state = GT_BOUND_PROVEN;
	return gt_check_each_room(check, state, err);
}

int gt_check_ring_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err)
{
	size_t nn = (size_t)plan->nranks * plan->nranks;
	struct gt_ring_check check = {
		.plan = plan,
		.table = table,
		.costs = {.cost = calloc(nn, sizeof(int64_t)),
			  .most = 1,
			  .unit_max = gt_unit_max},
		.rooms = calloc(nn, sizeof(struct gt_rat)),
		.wide = calloc(nn, sizeof(int64_t)),
		.closed = calloc(nn, sizeof(int64_t)),
	};
	int rc;

	rc = check.costs.cost && check.rooms && check.wide && check.closed
		     ? gt_check_rings(&check, prices, state, err)
		     : gt_err_nomem(err);
	free(check.costs.cost);
	free(check.rooms);
	free(check.wide);
	free(check.closed);
	return rc;
}
