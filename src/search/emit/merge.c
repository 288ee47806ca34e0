#include "search/emit/merge.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* Room for n more channels behind the plan's own. */
static int gt_merge_room(struct gt_plan *plan, uint32_t n)
{
	struct gt_plan_channel *channels = gt_arena_array(
		plan->arena, (size_t)plan->nchannels + n, sizeof(*channels));

	if (!channels)
		return 0;
	memcpy(channels, plan->channels, plan->nchannels * sizeof(*channels));
	plan->channels = channels;
	return 1;
}

static uint32_t gt_merge_id(const struct gt_plan *plan)
{
	uint32_t id = 0;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		if (plan->channels[i].id >= id)
			id = plan->channels[i].id + 1;
	return id;
}

static void *gt_merge_copy(struct gt_plan *plan, const void *from, uint32_t n,
			   size_t size_bytes)
{
	void *copy = gt_arena_array(plan->arena, n, size_bytes);

	if (copy && n)
		memcpy(copy, from, n * size_bytes);
	return copy;
}

/* Links by name, and those that are missing behind the plan's own. */
static uint32_t *gt_merge_links(struct gt_plan *plan,
				const struct gt_plan *other)
{
	uint32_t *map =
		gt_arena_array(plan->arena, other->nlinks, sizeof(*map));
	struct gt_plan_link *links = gt_arena_array(
		plan->arena, (size_t)plan->nlinks + other->nlinks,
		sizeof(*links));

	if (!map || !links)
		return NULL;
	memcpy(links, plan->links, plan->nlinks * sizeof(*links));
	plan->links = links;
	for (uint32_t i = 0; i < other->nlinks; i++) {
		uint32_t k = 0;

		while (k < plan->nlinks &&
		       strcmp(links[k].id, other->links[i].id))
			k++;
		map[i] = k;
		if (k < plan->nlinks)
			continue;
		links[k] = other->links[i];
		links[k].id = gt_arena_strdup(plan->arena, links[k].id);
		links[k].kind = gt_arena_strdup(plan->arena, links[k].kind);
		if (!links[k].id || !links[k].kind)
			return NULL;
		plan->nlinks++;
	}
	return map;
}

static int gt_merge_paths(struct gt_plan *plan, struct gt_plan_channel *channel)
{
	channel->paths = gt_merge_copy(plan, channel->paths, channel->npaths,
				       sizeof(*channel->paths));
	for (uint32_t i = 0; channel->paths && i < channel->npaths; i++) {
		struct gt_plan_path *path = &channel->paths[i];

		path->ranks = gt_merge_copy(plan, path->ranks, path->nranks,
					    sizeof(*path->ranks));
		if (!path->ranks)
			return 0;
	}
	return channel->paths != NULL;
}

static int gt_merge_hops(struct gt_plan *plan, struct gt_plan_channel *channel,
			 const uint32_t *map)
{
	channel->hops = gt_merge_copy(plan, channel->hops, channel->nhops,
				      sizeof(*channel->hops));
	for (uint32_t i = 0; channel->hops && i < channel->nhops; i++) {
		struct gt_plan_hop *hop = &channel->hops[i];

		hop->route = gt_merge_copy(plan, hop->route, hop->nroute,
					   sizeof(*hop->route));
		if (!hop->route)
			return 0;
		for (uint32_t k = 0; k < hop->nroute; k++)
			hop->route[k] = map[hop->route[k]];
	}
	return channel->hops != NULL;
}

static int gt_merge_templates(struct gt_plan *plan,
			      struct gt_plan_channel *channel)
{
	uint32_t n = plan->cluster ? plan->cluster->nlocal : 0;

	if (!channel->templates)
		return 1;
	channel->templates = gt_merge_copy(plan, channel->templates, n,
					   sizeof(*channel->templates));
	for (uint32_t i = 0; channel->templates && i < n; i++) {
		struct gt_plan_template *tree = &channel->templates[i];

		tree->home =
			gt_merge_copy(plan, tree->home, n, sizeof(*tree->home));
		tree->away =
			gt_merge_copy(plan, tree->away, n, sizeof(*tree->away));
		tree->net =
			gt_merge_copy(plan, tree->net, n, sizeof(*tree->net));
		if (!tree->home || !tree->away || !tree->net)
			return 0;
	}
	return channel->templates != NULL;
}

int gt_merge_channels(struct gt_plan *plan, const struct gt_plan *other,
		      struct gt_err *err)
{
	uint32_t *map = gt_merge_links(plan, other);

	if (!map || !gt_merge_room(plan, other->nchannels))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < other->nchannels; i++) {
		struct gt_plan_channel channel = other->channels[i];

		channel.id = gt_merge_id(plan);
		channel.order =
			gt_merge_copy(plan, channel.order, channel.norder,
				      sizeof(*channel.order));
		if (channel.parent)
			channel.parent = gt_merge_copy(
				plan, channel.parent,
				plan->cluster ? plan->cluster->nlocal
					      : plan->nranks,
				sizeof(*channel.parent));
		if (!channel.order ||
		    (other->channels[i].parent && !channel.parent))
			return gt_err_nomem(err);
		if (!gt_merge_paths(plan, &channel) ||
		    !gt_merge_hops(plan, &channel, map) ||
		    !gt_merge_templates(plan, &channel))
			return gt_err_nomem(err);
		plan->channels[plan->nchannels++] = channel;
	}
	return GT_OK;
}

/* What a link carries when every pair that has to moves 1 GB/s. */
static int gt_merge_load(const struct gt_plan *plan, uint32_t link,
			 struct gt_rat *load)
{
	const char *kind = plan->links[link].kind;
	int pci = kind && !strcmp(kind, "PCI");

	*load = GT_RAT(0, 1);
	for (uint32_t i = 0; i < plan->proof.nroutes; i++) {
		const struct gt_plan_route *route = &plan->proof.routes[i];

		if (gt_coll_only_moves(plan->coll) &&
		    !gt_coll_has_pair(plan->coll, plan->nranks, plan->root,
				      route->from, route->to))
			continue;
		for (uint32_t k = 0; k < route->nlinks; k++)
			if (route->links[k] == link &&
			    !gt_rat_add(*load,
					pci ? route->charge : GT_RAT(1, 1),
					load))
				return 0;
	}
	return 1;
}

static int gt_merge_rate(const struct gt_plan *plan, struct gt_rat *gbs)
{
	int found = 0;

	for (uint32_t i = 0; i < plan->nlinks; i++) {
		struct gt_rat load, rate;

		if (!gt_merge_load(plan, i, &load))
			return 0;
		if (!load.num)
			continue;
		if (!gt_rat_div(plan->links[i].gbs, load, &rate))
			return 0;
		if (!found || gt_rat_cmp(rate, *gbs) < 0)
			*gbs = rate;
		found = 1;
	}
	return found && gbs->num > 0;
}

int gt_merge_mesh(struct gt_plan *plan, struct gt_err *err)
{
	uint64_t pairs = (uint64_t)plan->nranks * (plan->nranks - 1);
	struct gt_plan_channel mesh = {.shape = GT_SHAPE_MESH,
				       .share = GT_RAT(1, 1)};

	if (plan->nranks < 2 || plan->cluster || plan->proof.nroutes != pairs ||
	    !gt_merge_rate(plan, &mesh.gbs))
		return gt_err_set(err, GT_ENO, NULL,
				  "no mesh joins all %u ranks", plan->nranks);
	mesh.id = gt_merge_id(plan);
	mesh.nhops = plan->proof.nroutes;
	mesh.hops = gt_arena_array(plan->arena, mesh.nhops, sizeof(*mesh.hops));
	if (!mesh.hops || !gt_merge_room(plan, 1))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < mesh.nhops; i++) {
		const struct gt_plan_route *route = &plan->proof.routes[i];

		mesh.hops[i] = (struct gt_plan_hop){
			.from = route->from,
			.to = route->to,
			.transport = gt_plan_transport(plan, route->links,
						       route->nlinks),
			.charge = route->charge,
			.nroute = route->nlinks,
			.route = route->links,
		};
	}
	plan->channels[plan->nchannels++] = mesh;
	return GT_OK;
}

/* What only moves was bounded by flows, in the mesh's unit. */
static int gt_merge_flow_bound(struct gt_plan *plan)
{
	struct gt_plan_proof *proof = &plan->proof;

	proof->value = plan->channels[0].gbs;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	return plan->has_proof;
}

/* The bound in the unit of the plan's rows as they are now. */
static int gt_merge_bound(struct gt_plan *plan, struct gt_rat algbw)
{
	struct gt_plan_proof *proof = &plan->proof;

	if (!proof->has_any_bound ||
	    !gt_rat_div(algbw, gt_plan_algbw_factor(plan), &proof->bound))
		return 0;
	proof->class_ = GT_PROOF_ANY;
	proof->max_channels = 0;
	proof->value = plan->channels[0].gbs;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	proof->nprices = proof->nequal = 0;
	proof->has_any_bound = 0;
	return 1;
}

int gt_merge_mesh_only(struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_select *row = &plan->select[0];
	struct gt_rat algbw = GT_RAT(0, 1);
	int rc = gt_merge_mesh(plan, err);

	if (rc)
		return rc;
	if (!gt_rat_mul(plan->proof.any_bound, gt_plan_algbw_factor(plan),
			&algbw))
		plan->proof.has_any_bound = 0;
	plan->channels[0] = plan->channels[plan->nchannels - 1];
	plan->channels[0].id = 0;
	row->workers *= row->nchannels;
	row->nchannels = plan->nchannels = plan->nselect = 1;
	row->channels[0] = 0;
	row->algo = gt_algo_supports(GT_ALGO_TWO_SHOT, plan->coll)
			    ? GT_ALGO_TWO_SHOT
			    : GT_ALGO_ONE_SHOT;
	plan->has_proof = gt_coll_only_moves(plan->coll)
				  ? gt_merge_flow_bound(plan)
				  : gt_merge_bound(plan, algbw);
	return GT_OK;
}
