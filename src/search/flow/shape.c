/*
 * Flows as a shape: the concurrent flow is solved as a forest of blocks, its
 * paths are assigned to channels, and direct ones become a mesh.
 */
#include "search/problem/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "search/flow/by_rails.h"
#include "search/flow/paths.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"
#include "search/tree/shares.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/* Channels when nobody asked for fewer: each costs FIFOs and workers. */
enum { GT_FLOW_CHANNELS = 48 };

static uint32_t gt_flow_limit(const struct gt_shape_args *args)
{
	return args->max_channels ? args->max_channels : GT_FLOW_CHANNELS;
}

static int gt_flow_write_path(const struct gt_flow_paths *flow, uint32_t which,
			      struct gt_proposal_path *out)
{
	const struct gt_flow_path *path = &flow->paths[which];
	const struct gt_forest *f = flow->forest;

	out->nhops = path->nhops;
	out->ranks = path->ranks;
	out->routes = gt_arena_array(f->args->arena, path->nhops,
				     sizeof(*out->routes));
	if (!out->routes)
		return GT_ESYS;
	for (uint32_t i = 0; i < path->nhops; i++)
		out->routes[i] = gt_tree_hops_route(&f->hops, path->routes[i]);
	return GT_OK;
}

/* The rate of the pair that has most, of one in units. */
static int gt_flow_gbs(const struct gt_flow_paths *flow, struct gt_rat rate,
		       struct gt_rat *gbs)
{
	const struct gt_plan_demand *demand = flow->forest->args->demand;

	return gt_rat_mul(rate, GT_RAT(demand ? demand->most : 1, 1), gbs);
}

/* Make one of several equal parts of channel c. */
static int gt_flow_channel(const struct gt_flow_paths *flow, uint32_t c,
			   uint32_t parts, struct gt_proposal_channel *out)
{
	struct gt_rat share;

	out->npaths = flow->npairs;
	out->paths = gt_arena_array(flow->forest->args->arena, flow->npairs,
				    sizeof(*out->paths));
	if (!out->paths)
		return GT_ESYS;
	for (uint32_t p = 0; p < flow->npairs; p++)
		if (gt_flow_write_path(flow,
				       flow->pick[(size_t)c * flow->npairs + p],
				       &out->paths[p]))
			return GT_ESYS;
	return gt_rat_make(flow->nums[c], flow->den, &share) &&
			       gt_rat_div(share, GT_RAT(parts, 1), &share) &&
			       gt_flow_gbs(flow, flow->rate, &out->gbs) &&
			       gt_rat_mul(out->gbs, share, &out->gbs)
		       ? GT_OK
		       : GT_ENO;
}

/* Do all pairs of all ranks go directly, on one channel? */
static int gt_flow_is_mesh(const struct gt_flow_paths *flow)
{
	const struct gt_fabric *f = flow->forest->args->fabric;

	if (flow->nchannels > 1 || f->open || flow->forest->args->demand)
		return 0;
	for (uint32_t p = 0; p < flow->npairs; p++)
		if (flow->paths[flow->pick[p]].nhops > 1)
			return 0;
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		if (i / f->nranks != i % f->nranks && !f->routes[i].nlinks)
			return 0;
	return 1;
}

/* The largest number of links that a rank's bytes begin on. */
static uint32_t gt_flow_first_links(const struct gt_flow_paths *flow)
{
	const struct gt_tree_hops *hops = &flow->forest->hops;
	uint32_t most = 1, from = UINT32_MAX, links_out = 0;
	uint32_t links[GT_PRIM_MAX];

	for (uint32_t p = 0; p < flow->npairs; p++) {
		const struct gt_flow_path *path = &flow->paths[flow->pick[p]];
		uint32_t link =
			gt_tree_hops_route(hops, path->routes[0])->links[0];
		uint32_t k = 0;

		links_out = flow->pairs[p].from == from ? links_out : 0;
		from = flow->pairs[p].from;
		while (k < links_out && links[k] != link)
			k++;
		if (k == links_out)
			links[links_out++] = link;
		most = links_out > most ? links_out : most;
	}
	return most;
}

/*
 * Each channel's programs begin with another peer (plan/lower/shape.h), so
 * with as many channels as a rank has links to begin on all are in use.
 */
static uint32_t gt_flow_parts(const struct gt_flow_paths *flow)
{
	uint32_t limit = gt_flow_limit(flow->forest->args);
	uint32_t n = flow->nchannels, links_out = gt_flow_first_links(flow);
	uint32_t parts = (links_out + n - 1) / n;

	return parts * n > limit ? (limit > n ? limit / n : 1) : parts;
}

/* Make all channels, `parts` times one behind the other. */
static int gt_flow_channels(const struct gt_flow_paths *flow,
			    struct gt_proposal *proposal, struct gt_err *err)
{
	uint32_t n = flow->nchannels, parts = gt_flow_parts(flow);
	int rc = GT_OK;

	proposal->channels =
		gt_arena_array(flow->forest->args->arena, (size_t)n * parts,
			       sizeof(*proposal->channels));
	if (!proposal->channels)
		return gt_err_nomem(err);
	for (uint32_t c = 0; !rc && c < n * parts; c++)
		rc = gt_flow_channel(flow, c % n, parts,
				     &proposal->channels[c]);
	if (rc)
		return rc == GT_ESYS ? gt_err_nomem(err)
				     : gt_err_set(err, GT_ESYS, NULL,
						  "a channel's rate needs more "
						  "than 64 bits");
	proposal->nchannels = n * parts;
	if (!gt_flow_gbs(flow, flow->rate, &proposal->value))
		return gt_err_set(err, GT_ESYS, NULL,
				  "the flow's rate needs more than 64 bits");
	if (gt_flow_is_mesh(flow))
		proposal->shape = GT_SHAPE_MESH;
	return GT_OK;
}

/*
 * A forest's bound is for all senders together, a flow's for the pair that has
 * most.
 */
static int gt_flow_prove(struct gt_forest *f, struct gt_proposal *proposal,
			 struct gt_err *err)
{
	const struct gt_plan_demand *demand = f->args->demand;
	struct gt_rat each = GT_RAT(demand ? demand->most : 1, f->nroots);
	int rc = gt_forest_prove(f, proposal, err);

	if (rc && rc != GT_ENO)
		return rc;
	proposal->has_bound =
		!rc && gt_rat_mul(proposal->bound, each, &proposal->bound);
	for (uint32_t i = 0; proposal->has_bound && i < proposal->nprices; i++)
		proposal->has_bound =
			gt_rat_mul(proposal->prices[i].price, each,
				   &proposal->prices[i].price);
	if (!proposal->has_bound)
		proposal->nprices = 0;
	return GT_OK;
}

/*
 * The bound, when the rate is as near to it as 64 bits let a basis come: few
 * channels may well be exact.
 */
static void gt_flow_goal(struct gt_flow_paths *flow,
			 const struct gt_proposal *proposal)
{
	const struct gt_plan_demand *demand = flow->forest->args->demand;
	double rate = gt_rat_double(flow->rate);
	struct gt_rat bound = flow->rate;
	int found = proposal->has_bound &&
		    gt_rat_div(proposal->bound,
			       GT_RAT(demand ? demand->most : 1, 1), &bound);

	flow->optimal = found && gt_rat_double(bound) < rate * (1 + 1e-6);
	flow->goal = flow->optimal ? bound : flow->rate;
}

static int gt_concurrent_run(struct gt_forest *f, struct gt_proposal *proposal,
			     struct gt_err *err)
{
	struct gt_forest_shares shares;
	struct gt_flow_paths flow;
	int rc = gt_forest_solve(f, &shares, err);

	if (!rc)
		rc = gt_flow_prove(f, proposal, err);
	if (!rc)
		rc = gt_flow_paths_init(&flow, f, &shares, err);
	if (!rc)
		gt_flow_goal(&flow, proposal);
	if (!rc)
		rc = gt_flow_assign_paths(&flow, gt_flow_limit(f->args), err);
	if (rc)
		return rc;
	proposal->nrows = f->hops.nrows;
	proposal->ncolumns = f->trees.ntrees;
	proposal->nrounds = f->nrounds;
	return gt_flow_channels(&flow, proposal, err);
}

/* For one rank there is nothing to move and nothing to prove. */
static int gt_flow_alone(const struct gt_shape_args *args,
			 struct gt_proposal *proposal, struct gt_err *err)
{
	proposal->channels =
		gt_arena_alloc(args->arena, sizeof(*proposal->channels));
	if (!proposal->channels)
		return gt_err_nomem(err);
	proposal->nchannels = 1;
	proposal->channels->gbs = GT_RAT(0, 1);
	proposal->value = proposal->bound = GT_RAT(0, 1);
	proposal->has_bound = 1;
	return GT_OK;
}

static int gt_flow_propose(const struct gt_shape_args *args,
			   struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_forest f = {0};
	int rc;

	memset(proposal, 0, sizeof(*proposal));
	proposal->shape = GT_SHAPE_FLOW;
	proposal->class_ = GT_PROOF_ANY;
	if (args->fabric->nranks == 1)
		return gt_flow_alone(args, proposal, err);
	if (args->fabric->nranks > GT_PRIM_MAX)
		return gt_err_set(err, GT_ENO, NULL,
				  "%u GPUs are too many for the search for "
				  "flows; name up to %d with --gpus",
				  args->fabric->nranks, GT_PRIM_MAX);
	if (args->demand) {
		rc = gt_flow_by_rails(args, gt_flow_limit(args), proposal, err);
		if (rc != GT_ENO)
			return rc;
	}
	rc = gt_forest_init(&f, args, err);
	if (!rc)
		rc = gt_concurrent_run(&f, proposal, err);
	gt_forest_release(&f);
	return rc;
}

const struct gt_shape_entry gt_shape_flow = {
	.name = "flow",
	.shape = GT_SHAPE_FLOW,
	.supports = gt_coll_only_moves,
	.propose = gt_flow_propose,
};
