/*
 * The certificate of a proof: its routes are those that the plan uses, its
 * prices sum to the bound, and the kinds of bounds that it has are proven one
 * by one.
 */
#include "plan/check/stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"

static int gt_check_route(const struct gt_plan *plan, uint32_t i,
			  const struct gt_plan_route **table,
			  struct gt_err *err)
{
	const struct gt_plan_route *route = &plan->proof.routes[i];
	struct gt_plan_at at = gt_plan_at("proof.certificate.routes[%u]", i);
	uint32_t n = plan->nranks;

	if (route->from >= n || route->to >= n || route->from == route->to)
		return gt_plan_wrong(plan, at, err,
				     "does not lead from a rank to another");
	if (table[route->from * n + route->to])
		return gt_plan_wrong(plan, at, err,
				     "is a second one from %u to %u",
				     route->from, route->to);
	if (gt_rat_cmp(route->charge, GT_RAT(1, 1)) < 0)
		return gt_plan_wrong(plan, at, err,
				     "the charge is less than 1");
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (route->links[k] >= plan->nlinks)
			return gt_plan_wrong(plan, at, err,
					     "there is no link number '%u'",
					     route->links[k]);
	table[route->from * n + route->to] = route;
	return GT_OK;
}

/*
 * A hop has the route and the charge of the proof's routes: the proof speaks of
 * no others, so the plan must not use others.
 */
static int gt_check_hop_route(const struct gt_plan *plan,
			      const struct gt_plan_hop *hop,
			      const struct gt_plan_route *route,
			      struct gt_plan_at at, struct gt_err *err)
{
	if (hop->nroute == route->nlinks &&
	    !memcmp(hop->route, route->links,
		    hop->nroute * sizeof(*hop->route)) &&
	    !gt_rat_cmp(hop->charge, route->charge))
		return GT_OK;
	return gt_plan_wrong(plan, at, err,
			     "route or charge from %u to %u is not that of "
			     "the proof's routes",
			     hop->from, hop->to);
}

static int gt_check_hop_routes(const struct gt_plan *plan,
			       const struct gt_plan_route **table,
			       struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops && !rc; i++) {
			const struct gt_plan_hop *hop =
				&plan->channels[c].hops[i];

			rc = gt_check_hop_route(
				plan, hop,
				table[hop->from * plan->nranks + hop->to],
				gt_plan_at("channels[%u].hops[%u]", c, i), err);
		}
	return rc;
}

/* There are no routes, or one for every ordered pair of ranks. */
static int gt_check_route_count(const struct gt_plan *plan, struct gt_err *err)
{
	uint64_t pairs = (uint64_t)plan->nranks * (plan->nranks - 1);

	if (!plan->proof.nroutes || plan->proof.nroutes == pairs)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.certificate.routes"), err,
			     "there are %u for %llu pairs of ranks",
			     plan->proof.nroutes, (unsigned long long)pairs);
}

/* Fill table[from * nranks + to] with the certificate's routes. */
static int gt_check_routes(const struct gt_plan *plan,
			   const struct gt_plan_route **table,
			   struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->proof.nroutes && !rc; i++)
		rc = gt_check_route(plan, i, table, err);
	return rc ? rc : gt_check_hop_routes(plan, table, err);
}

/* Fill prices[] by link.  Their sum over all capacity has to be the bound. */
static int gt_check_prices(const struct gt_plan *plan, struct gt_rat *prices,
			   struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	struct gt_plan_at at = gt_plan_at("proof.certificate.prices");
	struct gt_rat sum = GT_RAT(0, 1), term;
	char text[GT_RAT_TEXT_MAX];

	for (uint32_t i = 0; i < plan->nlinks; i++)
		prices[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < proof->nprices; i++) {
		const struct gt_plan_price *price = &proof->prices[i];

		if (price->link >= plan->nlinks || price->price.num < 0)
			return gt_plan_wrong(plan, at, err,
					     "price number %u is negative or "
					     "of no link",
					     i);
		prices[price->link] = price->price;
		if (!gt_rat_mul(price->price, plan->links[price->link].gbs,
				&term) ||
		    !gt_rat_add(sum, term, &sum))
			return gt_plan_wrong(plan, at, err,
					     "their sum over the capacities "
					     "needs more than 64 bits");
	}
	if (proof->max_channels &&
	    (!gt_rat_mul(proof->channel_price, GT_RAT(proof->max_channels, 1),
			 &term) ||
	     !gt_rat_add(sum, term, &sum)))
		return gt_plan_wrong(plan, at, err,
				     "with those of channels their sum needs "
				     "more than 64 bits");
	if (!gt_rat_cmp(sum, proof->bound))
		return GT_OK;
	return gt_plan_wrong(plan, at, err,
			     "sum over the capacities to '%s', not to the "
			     "bound",
			     gt_rat_print(sum, text));
}

static int gt_check_price_bound(const struct gt_plan *plan,
				const struct gt_plan_route **table,
				enum gt_bound_state *state, struct gt_err *err)
{
	int ring = plan->proof.class_ == GT_PROOF_RING;
	struct gt_rat *prices =
		calloc((size_t)plan->nlinks + 1, sizeof(*prices));
	int rc;

	if (!prices)
		return gt_err_nomem(err);
	rc = gt_check_prices(plan, prices, err);
	if (!rc && plan->proof.class_ == GT_PROOF_SWITCH)
		rc = gt_check_switch_bound(plan, prices, state, err);
	else if (!rc && !plan->proof.nroutes)
		*state = GT_BOUND_NO_ROUTES;
	else if (!rc && ring)
		rc = gt_check_ring_bound(plan, table, prices, state, err);
	else if (!rc && gt_coll_only_moves(plan->coll))
		rc = gt_check_length_bound(plan, table, prices, state, err);
	else if (!rc)
		rc = gt_check_tree_bound(plan, table, prices, state, err);
	free(prices);
	return rc;
}

/* Prices that are not about relays prove nothing of a plan that has some. */
static int gt_check_relays(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (proof->relays && (proof->class_ != GT_PROOF_RING || proof->nequal))
		return gt_plan_wrong(
			plan, gt_plan_at("proof.certificate.relays"), err,
			"is for prices of class ring alone, without 'equal'");
	for (uint32_t c = 0; c < plan->nchannels && !proof->relays; c++) {
		const struct gt_plan_channel *ring = &plan->channels[c];

		if (ring->shape == GT_SHAPE_RING &&
		    (proof->nprices || proof->max_channels) &&
		    proof->class_ == GT_PROOF_RING &&
		    ring->nhops > ring->norder)
			return gt_plan_wrong(
				plan, gt_plan_at("channels[%u].hops", c), err,
				"have some that are relayed, which the proof "
				"is not about");
	}
	return GT_OK;
}

static int gt_check_certificate(const struct gt_plan *plan,
				const struct gt_plan_route **table,
				struct gt_plan_report *report,
				struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	int any = proof->class_ == GT_PROOF_ANY, rc = GT_OK;

	if (proof->nroutes)
		rc = gt_check_routes(plan, table, err);
	if (!rc && !plan->cluster)
		rc = gt_check_relays(plan, err);
	if (!rc && (proof->nprices || proof->max_channels))
		rc = gt_check_price_bound(plan, table, &report->bound, err);
	if (!rc && proof->nequal)
		rc = gt_check_equal_shares(plan, table, report, err);
	if (!rc && proof->nparts)
		rc = gt_check_parts(plan, table,
				    any ? &report->bound : &report->any_bound,
				    err);
	return rc;
}

int gt_check_proof(const struct gt_plan *plan, struct gt_plan_report *report,
		   struct gt_err *err)
{
	struct gt_plan_report made = {.bound = GT_BOUND_ABSENT};
	const struct gt_plan_route **table;
	size_t n = plan->proof.nroutes ? plan->nranks : 1;
	int rc = GT_OK;

	if (plan->has_proof)
		rc = gt_check_claims(plan, err);
	if (!rc && plan->has_proof)
		rc = gt_check_route_count(plan, err);
	if (rc)
		return rc;
	table = calloc(n * n, sizeof(*table));
	if (!table)
		return gt_err_nomem(err);
	if (plan->has_proof)
		rc = gt_check_certificate(plan, table, &made, err);
	free(table);
	if (!rc)
		*report = made;
	return rc;
}
