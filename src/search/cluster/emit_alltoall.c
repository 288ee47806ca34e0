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
			     const struct gt_alltoall_path *route)
{
	struct gt_plan_path *path = &channel->paths[channel->npaths++];

	path->class_ = route->class_;
	path->hops =
		gt_cluster_emit_array(e, route->nranks, sizeof(*path->hops));
	for (uint32_t k = 0; k + 1 < route->nranks && !e->failed; k++) {
		struct gt_network_hop net = {route->ranks[k], route->out,
					     route->in};
		int network = route->class_ && k + 1 == route->nout;

		path->hops[path->nhops++] = gt_cluster_emit_hop(
			e, channel, route->ranks[k], route->ranks[k + 1],
			network ? &net : NULL);
	}
}

static void gt_hier_emit_lane(struct gt_cluster_emit *e,
			      const struct gt_alltoall_channel *in)
{
	const struct gt_alltoall *a2a = e->found->a2a;
	uint32_t n = e->found->quotient->fabric->nranks;
	uint32_t npairs = a2a->nclasses * n * n, nhops = 0;
	struct gt_plan *plan = e->plan;
	struct gt_plan_channel *channel = &plan->channels[plan->nchannels];

	channel->id = plan->nchannels++;
	channel->shape = GT_SHAPE_FLOW;
	for (uint32_t p = 0; p < npairs; p++)
		nhops += in->paths[p] ? in->paths[p]->nranks : 0;
	channel->hops = gt_cluster_emit_array(e, nhops, sizeof(*channel->hops));
	channel->paths =
		gt_cluster_emit_array(e, npairs, sizeof(*channel->paths));
	if (!gt_rat_make(in->weight, a2a->denominator, &channel->share) ||
	    !gt_rat_mul(channel->share, a2a->rate, &channel->gbs))
		e->failed = 1;
	for (uint32_t p = 0; p < npairs && !e->failed; p++)
		if (in->paths[p])
			gt_hier_emit_way(e, channel, in->paths[p]);
}

void gt_cluster_emit_alltoall(struct gt_cluster_emit *e)
{
	const struct gt_alltoall *a2a = e->found->a2a;
	struct gt_plan *plan = e->plan;

	plan->fifo_slice_bytes = GT_HIER_FLOW_SLICE_BYTES;
	plan->channels = gt_cluster_emit_array(e, a2a->nchannels,
					       sizeof(*plan->channels));
	for (uint32_t i = 0; i < a2a->nchannels && !e->failed; i++)
		gt_hier_emit_lane(e, &a2a->channels[i]);
}

void gt_cluster_emit_alltoall_proof(struct gt_cluster_emit *e)
{
	const struct gt_alltoall *a2a = e->found->a2a;
	struct gt_plan_proof *proof = &e->plan->proof;

	if (!a2a->has_bound)
		return;
	e->plan->has_proof = 1;
	proof->class_ = GT_PROOF_ANY;
	proof->value = a2a->rate;
	proof->bound = a2a->bound;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	proof->prices =
		gt_cluster_emit_array(e, a2a->nprices, sizeof(*proof->prices));
	if (e->failed)
		return;
	memcpy(proof->prices, a2a->prices,
	       a2a->nprices * sizeof(*proof->prices));
	proof->nprices = a2a->nprices;
	gt_cluster_emit_routes(e);
}
