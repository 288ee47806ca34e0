#include "search/cluster/emit.h"

#include <string.h>

#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/search.h"
#include "search/cluster/block_trees.h"

enum {
	GT_HIER_FLOW_SLICE_BYTES = 131072, /* there are many FIFOs */
};

static void gt_hier_emit_way(struct gt_cluster_emit *e,
			     struct gt_plan_channel *channel,
			     const struct gt_alltoall_path *way)
{
	struct gt_plan_path *path = &channel->paths[channel->npaths++];

	path->class_ = way->class_;
	path->hops = gt_cluster_emit_array(e, way->nranks, sizeof(*path->hops));
	for (uint32_t k = 0; k + 1 < way->nranks && !e->failed; k++) {
		struct gt_network_hop net = {way->ranks[k], way->out, way->in};
		int network = way->class_ && k + 1 == way->nout;

		path->hops[path->nhops++] = gt_cluster_emit_hop(
			e, channel, way->ranks[k], way->ranks[k + 1],
			network ? &net : NULL);
	}
}

static void gt_hier_emit_lane(struct gt_cluster_emit *e,
			      const struct gt_alltoall_channel *lane)
{
	const struct gt_alltoall *flow = e->found->flow;
	uint32_t n = e->found->hier->box->nranks;
	uint32_t npairs = flow->nclasses * n * n, nhops = 0;
	struct gt_plan *plan = e->plan;
	struct gt_plan_channel *channel = &plan->channels[plan->nchannels];

	channel->id = plan->nchannels++;
	channel->shape = GT_SHAPE_FLOW;
	for (uint32_t p = 0; p < npairs; p++)
		nhops += lane->ways[p] ? lane->ways[p]->nranks : 0;
	channel->hops = gt_cluster_emit_array(e, nhops, sizeof(*channel->hops));
	channel->paths =
		gt_cluster_emit_array(e, npairs, sizeof(*channel->paths));
	if (!gt_rat_make(lane->weight, flow->whole, &channel->share) ||
	    !gt_rat_mul(channel->share, flow->rate, &channel->gbs))
		e->failed = 1;
	for (uint32_t p = 0; p < npairs && !e->failed; p++)
		if (lane->ways[p])
			gt_hier_emit_way(e, channel, lane->ways[p]);
}

void gt_cluster_emit_alltoall(struct gt_cluster_emit *e)
{
	const struct gt_alltoall *flow = e->found->flow;
	struct gt_plan *plan = e->plan;

	plan->fifo_slice_bytes = GT_HIER_FLOW_SLICE_BYTES;
	plan->channels =
		gt_cluster_emit_array(e, flow->nlanes, sizeof(*plan->channels));
	for (uint32_t i = 0; i < flow->nlanes && !e->failed; i++)
		gt_hier_emit_lane(e, &flow->lanes[i]);
}

void gt_cluster_emit_alltoall_proof(struct gt_cluster_emit *e)
{
	const struct gt_alltoall *flow = e->found->flow;
	struct gt_plan_proof *proof = &e->plan->proof;

	if (!flow->has_bound)
		return;
	e->plan->has_proof = 1;
	proof->class_ = GT_PROOF_ANY;
	proof->value = flow->rate;
	proof->bound = flow->bound;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	proof->prices =
		gt_cluster_emit_array(e, flow->nprices, sizeof(*proof->prices));
	if (e->failed)
		return;
	memcpy(proof->prices, flow->prices,
	       flow->nprices * sizeof(*proof->prices));
	proof->nprices = flow->nprices;
	gt_cluster_emit_routes(e);
}
