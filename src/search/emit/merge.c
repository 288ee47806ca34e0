/*
 * Plans side by side in one: everything that is taken over is copied into the
 * plan's own arena, and links are found by name.
 */
#include "search/emit/merge.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/emit/plan_builder.h"

/* Room for n more channels behind the plan's own. */
static void extend_channels(struct gt_plan_builder *b, uint32_t n)
{
	struct gt_plan *plan = b->plan;
	struct gt_plan_channel *channels = gt_plan_builder_array(
		b, (size_t)plan->nchannels + n, sizeof(*channels));

	if (b->failed)
		return;
	memcpy(channels, plan->channels, plan->nchannels * sizeof(*channels));
	plan->channels = channels;
}

static uint32_t next_id(const struct gt_plan *plan)
{
	uint32_t id = 0;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		if (plan->channels[i].id >= id)
			id = plan->channels[i].id + 1;
	return id;
}

/*
 * The other plan's links, found by name among the plan's own; those that are
 * missing are put behind these.  The result is the builder's map.
 */
static void merge_links(struct gt_plan_builder *b, const struct gt_plan *other)
{
	struct gt_plan *plan = b->plan;
	uint32_t *map = gt_plan_builder_array(b, other->nlinks, sizeof(*map));
	struct gt_plan_link *links = gt_plan_builder_array(
		b, (size_t)plan->nlinks + other->nlinks, sizeof(*links));

	if (b->failed)
		return;
	memcpy(links, plan->links, plan->nlinks * sizeof(*links));
	plan->links = links;
	for (uint32_t i = 0; i < other->nlinks && !b->failed; i++) {
		uint32_t k = 0;

		while (k < plan->nlinks &&
		       strcmp(links[k].id, other->links[i].id))
			k++;
		map[i] = k;
		if (k < plan->nlinks)
			continue;
		links[k] = other->links[i];
		links[k].id = gt_plan_builder_text(b, links[k].id);
		links[k].kind = gt_plan_builder_text(b, links[k].kind);
		plan->nlinks++;
	}
	b->link_map = map;
}

static void own_paths(struct gt_plan_builder *b,
		      struct gt_plan_channel *channel)
{
	channel->paths = gt_plan_builder_copy(
		b, channel->paths, channel->npaths, sizeof(*channel->paths));
	for (uint32_t i = 0; !b->failed && i < channel->npaths; i++) {
		struct gt_plan_path *path = &channel->paths[i];

		path->ranks = gt_plan_builder_copy(b, path->ranks, path->nranks,
						   sizeof(*path->ranks));
	}
}

static void own_hops(struct gt_plan_builder *b, struct gt_plan_channel *channel)
{
	channel->hops = gt_plan_builder_copy(b, channel->hops, channel->nhops,
					     sizeof(*channel->hops));
	for (uint32_t i = 0; !b->failed && i < channel->nhops; i++) {
		struct gt_plan_hop *hop = &channel->hops[i];

		hop->route = gt_plan_builder_links(b, hop->route, hop->nroute);
		hop->common = 0;
	}
}

static void own_templates(struct gt_plan_builder *b,
			  struct gt_plan_channel *channel)
{
	uint32_t n = b->plan->cluster ? b->plan->cluster->nlocal : 0;

	if (!channel->templates)
		return;
	channel->templates = gt_plan_builder_copy(b, channel->templates, n,
						  sizeof(*channel->templates));
	for (uint32_t i = 0; !b->failed && i < n; i++) {
		struct gt_plan_template *tree = &channel->templates[i];

		tree->home = gt_plan_builder_copy(b, tree->home, n,
						  sizeof(*tree->home));
		tree->away = gt_plan_builder_copy(b, tree->away, n,
						  sizeof(*tree->away));
		tree->net = gt_plan_builder_copy(b, tree->net, n,
						 sizeof(*tree->net));
	}
}

static void own_parent(struct gt_plan_builder *b,
		       struct gt_plan_channel *channel)
{
	const struct gt_plan *plan = b->plan;
	uint32_t n = plan->cluster ? plan->cluster->nlocal : plan->nranks;

	if (channel->parent)
		channel->parent = gt_plan_builder_copy(
			b, channel->parent, n, sizeof(*channel->parent));
}

int gt_merge_channels(struct gt_plan *plan, const struct gt_plan *other,
		      struct gt_err *err)
{
	struct gt_plan_builder b = {.plan = plan};

	merge_links(&b, other);
	extend_channels(&b, other->nchannels);
	for (uint32_t i = 0; !b.failed && i < other->nchannels; i++) {
		struct gt_plan_channel channel = other->channels[i];

		channel.id = next_id(plan);
		channel.order =
			gt_plan_builder_copy(&b, channel.order, channel.norder,
					     sizeof(*channel.order));
		own_parent(&b, &channel);
		own_paths(&b, &channel);
		own_hops(&b, &channel);
		own_templates(&b, &channel);
		plan->channels[plan->nchannels++] = channel;
	}
	return b.failed ? gt_err_nomem(err) : GT_OK;
}

/*
 * The load of a link when every pair that has to moves 1 GB/s; 0: it does not
 * fit.
 */
static int load_of_link(const struct gt_plan *plan, uint32_t link,
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

static int mesh_rate(const struct gt_plan *plan, struct gt_rat *gbs)
{
	int found = 0;

	for (uint32_t i = 0; i < plan->nlinks; i++) {
		struct gt_rat load, rate;

		if (!load_of_link(plan, i, &load))
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
	struct gt_plan_builder b = {.plan = plan};
	struct gt_plan_channel mesh = {.shape = GT_SHAPE_MESH,
				       .share = GT_RAT(1, 1)};

	if (plan->nranks < 2 || plan->cluster || plan->proof.nroutes != pairs ||
	    !mesh_rate(plan, &mesh.gbs))
		return gt_err_set(err, GT_ENO, NULL,
				  "no mesh joins all %u ranks", plan->nranks);
	mesh.id = next_id(plan);
	mesh.nhops = plan->proof.nroutes;
	mesh.hops = gt_plan_builder_array(&b, mesh.nhops, sizeof(*mesh.hops));
	extend_channels(&b, 1);
	if (b.failed)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < mesh.nhops; i++) {
		const struct gt_plan_route *route = &plan->proof.routes[i];

		mesh.hops[i] = (struct gt_plan_hop){
			.from = route->from,
			.to = route->to,
			.transport = gt_plan_transport(plan, route->links,
						       route->nlinks,
						       route->is_staged),
			.charge = route->charge,
			.nroute = route->nlinks,
			.route = route->links,
		};
	}
	plan->channels[plan->nchannels++] = mesh;
	return GT_OK;
}

/*
 * A collective that only moves has been bounded by flows, whose unit is that
 * of the mesh, so the bound stays.
 */
static int keep_flow_bound(struct gt_plan *plan)
{
	struct gt_plan_proof *proof = &plan->proof;

	proof->value = plan->channels[0].gbs;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	return plan->has_proof;
}

/* The bound of all schedules becomes the mesh's, in the unit of its row. */
static int restate_bound(struct gt_plan *plan, struct gt_rat algbw)
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
	proof->relays = 0;
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
	if (gt_plan_is_staged(plan))
		row->protocol = GT_PROTOCOL_CE;
	plan->has_proof = gt_coll_only_moves(plan->coll)
				  ? keep_flow_bound(plan)
				  : restate_bound(plan, algbw);
	return GT_OK;
}
