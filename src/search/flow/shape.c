#include "search/problem/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/flow/paths.h"
#include "search/graph/prim.h"
#include "search/problem/fabric.h"
#include "search/tree/certificate.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/* Channels when nobody asked for fewer: each costs FIFOs and workers. */
enum { GT_FLOW_CHANNELS = 48 };

static int gt_flow_write_path(const struct gt_flow_paths *ways, uint32_t which,
			      struct gt_proposal_path *out)
{
	const struct gt_flow_path *path = &ways->paths[which];
	const struct gt_forest *f = ways->forest;

	out->nhops = path->nhops;
	out->ranks = path->ranks;
	out->routes = gt_arena_array(f->args->arena, path->nhops,
				     sizeof(*out->routes));
	if (!out->routes)
		return GT_ESYS;
	for (uint32_t i = 0; i < path->nhops; i++)
		out->routes[i] = gt_tree_hops_route(&f->arcs, path->routes[i]);
	return GT_OK;
}

/* One of several equal parts of channel c. */
static int gt_flow_channel(const struct gt_flow_paths *ways, uint32_t c,
			   uint32_t parts, struct gt_proposal_channel *out)
{
	struct gt_rat share;

	out->npaths = ways->npairs;
	out->paths = gt_arena_array(ways->forest->args->arena, ways->npairs,
				    sizeof(*out->paths));
	if (!out->paths)
		return GT_ESYS;
	for (uint32_t p = 0; p < ways->npairs; p++)
		if (gt_flow_write_path(ways,
				       ways->pick[(size_t)c * ways->npairs + p],
				       &out->paths[p]))
			return GT_ESYS;
	return gt_rat_make(ways->nums[c], ways->den, &share) &&
			       gt_rat_div(share, GT_RAT(parts, 1), &share) &&
			       gt_rat_mul(ways->rate, share, &out->gbs)
		       ? GT_OK
		       : GT_ENO;
}

/* All pairs of all ranks directly, on one channel. */
static int gt_flow_is_mesh(const struct gt_flow_paths *ways)
{
	const struct gt_fabric *f = ways->forest->args->fabric;

	if (ways->nchannels > 1 || f->open)
		return 0;
	for (uint32_t p = 0; p < ways->npairs; p++)
		if (ways->paths[ways->pick[p]].nhops > 1)
			return 0;
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		if (i / f->nranks != i % f->nranks && !f->routes[i].nlinks)
			return 0;
	return 1;
}

/* The links that a rank's bytes begin on, at most. */
static uint32_t gt_flow_external(const struct gt_flow_paths *ways)
{
	const struct gt_tree_hops *arcs = &ways->forest->arcs;
	uint32_t most = 1, from = UINT32_MAX, doors = 0;
	uint32_t links[GT_PRIM_MAX];

	for (uint32_t p = 0; p < ways->npairs; p++) {
		const struct gt_flow_path *path = &ways->paths[ways->pick[p]];
		uint32_t link =
			gt_tree_hops_route(arcs, path->routes[0])->links[0];
		uint32_t k = 0;

		doors = ways->pairs[p].from == from ? doors : 0;
		from = ways->pairs[p].from;
		while (k < doors && links[k] != link)
			k++;
		if (k == doors)
			links[doors++] = link;
		most = doors > most ? doors : most;
	}
	return most;
}

/*
 * Each channel's programs begin with another peer (plan/lower/shape.h), so
 * with as many channels as a rank has links to begin on all are in use.
 */
static uint32_t gt_flow_parts(const struct gt_flow_paths *ways)
{
	uint32_t limit = ways->forest->args->max_channels;
	uint32_t n = ways->nchannels, doors = gt_flow_external(ways);
	uint32_t parts = (doors + n - 1) / n;

	if (!limit)
		limit = GT_FLOW_CHANNELS;
	return parts * n > limit ? (limit > n ? limit / n : 1) : parts;
}

/* All channels, `parts` times one behind the other. */
static int gt_flow_channels(const struct gt_flow_paths *ways,
			    struct gt_proposal *proposal, struct gt_err *err)
{
	uint32_t n = ways->nchannels, parts = gt_flow_parts(ways);
	int rc = GT_OK;

	proposal->channels =
		gt_arena_array(ways->forest->args->arena, (size_t)n * parts,
			       sizeof(*proposal->channels));
	if (!proposal->channels)
		return gt_err_nomem(err);
	for (uint32_t c = 0; !rc && c < n * parts; c++)
		rc = gt_flow_channel(ways, c % n, parts,
				     &proposal->channels[c]);
	if (rc)
		return rc == GT_ESYS ? gt_err_nomem(err)
				     : gt_err_set(err, GT_ESYS, NULL,
						  "a channel's rate needs more "
						  "than 64 bits");
	proposal->nchannels = n * parts;
	proposal->value = ways->rate;
	if (gt_flow_is_mesh(ways))
		proposal->shape = GT_SHAPE_MESH;
	return GT_OK;
}

/* A forest's bound is for all senders together, a flow's for a pair. */
static int gt_flow_prove(struct gt_forest *f, struct gt_proposal *proposal,
			 struct gt_err *err)
{
	struct gt_rat each = GT_RAT(f->nroots, 1);
	int rc = gt_forest_prove(f, proposal, err);

	if (rc && rc != GT_ENO)
		return rc;
	proposal->has_bound =
		!rc && gt_rat_div(proposal->bound, each, &proposal->bound);
	for (uint32_t i = 0; proposal->has_bound && i < proposal->nprices; i++)
		proposal->has_bound =
			gt_rat_div(proposal->prices[i].price, each,
				   &proposal->prices[i].price);
	if (!proposal->has_bound)
		proposal->nprices = 0;
	return GT_OK;
}

/*
 * The bound, when the rate is as near to it as 64 bits let a basis come: few
 * channels may well be exact.
 */
static void gt_flow_goal(struct gt_flow_paths *ways,
			 const struct gt_proposal *proposal)
{
	double rate = gt_rat_double(ways->rate);

	ways->optimal = proposal->has_bound &&
			gt_rat_double(proposal->bound) < rate * (1 + 1e-6);
	ways->goal = ways->optimal ? proposal->bound : ways->rate;
}

static int gt_maxflow_run(struct gt_forest *f, struct gt_proposal *proposal,
			  struct gt_err *err)
{
	uint32_t limit = f->args->max_channels;
	struct gt_forest_shares shares;
	struct gt_flow_paths ways;
	int rc = gt_forest_solve(f, &shares, err);

	if (!rc)
		rc = gt_flow_prove(f, proposal, err);
	if (!rc)
		rc = gt_flow_paths_init(&ways, f, &shares, err);
	if (!rc)
		gt_flow_goal(&ways, proposal);
	if (!rc)
		rc = gt_flow_assign_paths(
			&ways, limit ? limit : GT_FLOW_CHANNELS, err);
	if (rc)
		return rc;
	proposal->nrows = f->arcs.nrows;
	proposal->ncolumns = f->trees.ntrees;
	proposal->nrounds = f->nrounds;
	return gt_flow_channels(&ways, proposal, err);
}

/* One rank: nothing to move, nothing to prove. */
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
	rc = gt_forest_init(&f, args, err);
	if (!rc)
		rc = gt_maxflow_run(&f, proposal, err);
	gt_forest_release(&f);
	return rc;
}

const struct gt_shape_entry gt_shape_flow = {
	.name = "flow",
	.shape = GT_SHAPE_FLOW,
	.can = gt_coll_only_moves,
	.propose = gt_flow_propose,
};
