#include "search/cluster/emit.h"

#include <string.h>

#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/search.h"
#include "search/cluster/ring.h"
#include "search/cluster/block_trees.h"
#include "search/problem/shape.h"

/* The ports that a proposed ring ends with. */
static uint32_t gt_hier_ring_port(const struct gt_cluster_emit *e,
				  const uint32_t *order, int in)
{
	const struct gt_quotient *q = e->found->quotient;
	uint32_t n = q->fabric->nranks;

	return order[n + (uint32_t)in] - n - (in ? q->cluster.nports : 0);
}

/* Hops in the order of plan/ir/cluster.h; those of odd nodes go back. */
static void gt_hier_ring_hops(struct gt_cluster_emit *e,
			      struct gt_plan_channel *channel,
			      const uint32_t *order)
{
	uint32_t n = channel->norder;
	uint32_t out = gt_hier_ring_port(e, order, 0);
	uint32_t in = gt_hier_ring_port(e, order, 1);
	int alternate = e->found->ring_fabric->alternate;
	struct gt_network_hop net = {order[n - 1], out, alternate ? out : in};

	for (uint32_t k = 0; k + 1 < n && !e->failed; k++)
		channel->hops[channel->nhops++] = gt_cluster_emit_hop_make(
			e, order[k], order[k + 1], NULL);
	channel->hops[channel->nhops++] = gt_cluster_emit_hop_make(
		e, net.from, alternate ? net.from : order[0], &net);
	if (!alternate)
		return;
	for (uint32_t k = n - 1; k && !e->failed; k--)
		channel->hops[channel->nhops++] = gt_cluster_emit_hop_make(
			e, order[k], order[k - 1], NULL);
	net = (struct gt_network_hop){order[0], in, in};
	channel->hops[channel->nhops++] =
		gt_cluster_emit_hop_make(e, order[0], order[0], &net);
}

void gt_cluster_emit_rings(struct gt_cluster_emit *e)
{
	const struct gt_proposal *rings = e->found->rings;
	uint32_t n = e->found->quotient->fabric->nranks;
	struct gt_plan *plan = e->plan;

	plan->channels = gt_cluster_emit_array(e, rings->nchannels,
					       sizeof(*plan->channels));
	for (uint32_t i = 0; i < rings->nchannels && !e->failed; i++) {
		const struct gt_proposal_channel *in = &rings->channels[i];
		struct gt_plan_channel *out = &plan->channels[i];

		out->id = plan->nchannels++;
		out->shape = GT_SHAPE_RING;
		out->gbs = in->gbs;
		out->share = GT_RAT(1, 1);
		if (rings->nchannels > 1)
			gt_rat_div(in->gbs, rings->value, &out->share);
		out->norder = n;
		out->order = gt_cluster_emit_array(e, n, sizeof(*out->order));
		out->hops = gt_cluster_emit_array(e, 2 * (size_t)n,
						  sizeof(*out->hops));
		if (e->failed)
			return;
		memcpy(out->order, in->order, n * sizeof(*out->order));
		gt_hier_ring_hops(e, out, in->order);
	}
}

/* As links of the plan, then uplinks.  0: one is of nodes of odd number. */
static int gt_hier_ring_prices(struct gt_cluster_emit *e)
{
	const struct gt_proposal *rings = e->found->rings;
	uint32_t first = e->found->ring_fabric->first;
	struct gt_plan_proof *proof = &e->plan->proof;

	/* Prices of channels are proven of one machine alone. */
	if (!rings->has_bound || rings->max_channels ||
	    !e->found->ring_fabric->complete)
		return 0;
	proof->prices = gt_cluster_emit_array(e, rings->nprices,
					      sizeof(*proof->prices));
	for (uint32_t i = 0; i < rings->nprices && !e->failed; i++) {
		const struct gt_proposal_price *price = &rings->prices[i];

		if (price->link < first) {
			proof->nprices = 0;
			return 0;
		}
		proof->prices[proof->nprices++] = (struct gt_plan_price){
			price->link - first, price->price};
	}
	proof->bound = rings->bound;
	return 1;
}

/* What bounds everything bounds rings too. */
void gt_cluster_emit_ring_proof(struct gt_cluster_emit *e)
{
	const struct gt_quotient_bound *bound = e->found->bound;
	struct gt_plan *plan = e->plan;
	struct gt_plan_proof *proof = &plan->proof;
	int has = gt_hier_ring_prices(e);

	if (bound->found && gt_rat_div(bound->value, gt_plan_algbw_factor(plan),
				       &proof->any_bound)) {
		proof->has_any_bound = 1;
		gt_cluster_emit_sets(e);
	}
	if (proof->has_any_bound &&
	    (!has || gt_rat_cmp(proof->any_bound, proof->bound) < 0)) {
		proof->bound = proof->any_bound;
		proof->nprices = 0;
		has = 1;
	}
	if (!has)
		return;
	plan->has_proof = 1;
	proof->class_ = GT_PROOF_RING;
	proof->value = e->found->rings->value;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	if (proof->nprices || proof->nunused)
		gt_cluster_emit_routes(e);
}
