#include "plan/check_cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check.h"
#include "plan/cluster.h"
#include "plan/plan.h"
#include "plan/vertex.h"

/* Loads of node 0's links, and of the uplinks above it: out, in. */
struct gt_cluster_load {
	const struct gt_plan *plan;
	struct gt_vertices vertices;
	struct gt_rat *links, *back; /* as listed; of the links back */
	struct gt_rat *up[2];        /* [level * nrails + rail] */
	struct gt_rat rate;          /* of one block in this channel */
};

static int gt_add_load(struct gt_rat *at, struct gt_rat rate,
		       struct gt_rat times)
{
	struct gt_rat load;

	return gt_rat_mul(rate, times, &load) && gt_rat_add(*at, load, at);
}

/* A switch is entered once by each block of a node that is not below it. */
static int gt_load_uplinks(struct gt_cluster_load *load, uint32_t port, int in)
{
	const struct gt_plan_cluster *cluster = load->plan->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		const struct gt_plan_level *level = &cluster->levels[l];
		uint32_t rail = level->by_rail ? cluster->ports[port].rail : 0;
		struct gt_rat nodes = GT_RAT(cluster->nnodes - level->nodes, 1);

		if (!gt_add_load(&load->up[in][l * cluster->nrails + rail],
				 load->rate, nodes))
			return 0;
	}
	return 1;
}

/* The charge is the sender's: it ends at the port. */
static int gt_load_template_hop(struct gt_cluster_load *load,
				const struct gt_plan_hop *hop, uint32_t times)
{
	const struct gt_vertices *v = &load->vertices;
	struct gt_rat charge = hop->charge, factor;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[i], port;

		port = v->port[v->from[link]];
		if (port != GT_NO_VERTEX) {
			charge = GT_RAT(1, 1);
			if (!gt_load_uplinks(load, port, 1))
				return 0;
		}
		port = v->port[v->to[link]];
		if (port != GT_NO_VERTEX && !gt_load_uplinks(load, port, 0))
			return 0;
		if (!gt_rat_mul(gt_plan_charge(load->plan, link, charge),
				GT_RAT(times, 1), &factor) ||
		    !gt_add_load(&load->links[link], load->rate, factor))
			return 0;
		if (v->back[link] != GT_NO_VERTEX &&
		    !gt_add_load(&load->back[v->back[link]], load->rate,
				 factor))
			return 0;
	}
	return 1;
}

static const struct gt_plan_hop *gt_local_hop(
	const struct gt_plan_channel *channel, int32_t from, uint32_t to)
{
	const struct gt_plan_hop *hop = channel->hops;

	while (hop->network || hop->from != (uint32_t)from || hop->to != to)
		hop++;
	return hop;
}

static int gt_load_template(struct gt_cluster_load *load,
			    const struct gt_plan_channel *channel,
			    const struct gt_plan_template *tree)
{
	uint32_t others = load->plan->cluster->nnodes - 1;
	int ok = 1;

	for (uint32_t i = 0; i < load->plan->cluster->nlocal && ok; i++) {
		if (tree->home[i] >= 0)
			ok = gt_load_template_hop(
				load, gt_local_hop(channel, tree->home[i], i),
				1);
		if (ok && tree->away[i] >= 0)
			ok = gt_load_template_hop(
				load, gt_local_hop(channel, tree->away[i], i),
				others);
		else if (ok)
			ok = gt_load_template_hop(
				load, &channel->hops[tree->net[i]], others);
	}
	return ok;
}

/* A block is 1/n of the result; an all-reduce takes one way after the other. */
static int gt_load_rate(struct gt_cluster_load *load,
			const struct gt_plan_channel *channel)
{
	int64_t times = load->plan->coll == GT_COLL_ALLREDUCE ? 2 : 1;

	return gt_rat_mul(channel->gbs, GT_RAT(times, 1), &load->rate) &&
	       gt_rat_div(load->rate, GT_RAT(load->plan->nranks, 1),
			  &load->rate);
}

static int gt_check_load(const struct gt_plan *plan, struct gt_rat load,
			 struct gt_rat gbs, const char *what,
			 struct gt_err *err)
{
	char text[2][GT_RAT_TEXT_MAX];

	if (gt_rat_cmp(load, gbs) <= 0)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("links"), err,
			     "'%s' would carry '%s' of '%s' GB/s", what,
			     gt_rat_print(load, text[0]),
			     gt_rat_print(gbs, text[1]));
}

static int gt_check_sums(const struct gt_cluster_load *load, struct gt_err *err)
{
	const struct gt_plan *plan = load->plan;
	const struct gt_plan_cluster *cluster = plan->cluster;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nlinks && !rc; i++) {
		if (plan->coll != GT_COLL_REDUCESCATTER)
			rc = gt_check_load(plan, load->links[i],
					   plan->links[i].gbs,
					   plan->links[i].id, err);
		if (!rc && plan->coll != GT_COLL_ALLGATHER)
			rc = gt_check_load(plan, load->back[i],
					   plan->links[i].gbs,
					   plan->links[i].id, err);
		if (!rc && plan->coll != GT_COLL_ALLGATHER &&
		    load->links[i].num &&
		    load->vertices.back[i] == GT_NO_VERTEX)
			rc = gt_plan_wrong(
				plan, gt_plan_at("links[%u]", i), err,
				"'%s' has no link back, which a %s "
				"takes",
				plan->links[i].id, gt_coll_name(plan->coll));
	}
	for (uint32_t i = 0; i < (cluster->nlevels - 1) * cluster->nrails; i++)
		for (int in = 0; in < 2 && !rc; in++)
			rc = gt_check_load(
				plan, load->up[in][i],
				cluster->levels[i / cluster->nrails].gbs,
				"uplink", err);
	return rc;
}

static int gt_cluster_load_init(struct gt_cluster_load *load,
				const struct gt_plan *plan,
				struct gt_arena *arena, struct gt_err *err)
{
	uint32_t nup = plan->cluster->nlevels * plan->cluster->nrails;
	struct gt_rat *sums[4];
	uint32_t sizes[4] = {plan->nlinks, plan->nlinks, nup, nup};

	load->plan = plan;
	for (int s = 0; s < 4; s++) {
		sums[s] = gt_arena_array(arena, sizes[s], sizeof(*sums[s]));
		if (!sums[s])
			return gt_err_nomem(err);
		for (uint32_t i = 0; i < sizes[s]; i++)
			sums[s][i] = GT_RAT(0, 1);
	}
	load->links = sums[0];
	load->back = sums[1];
	load->up[0] = sums[2];
	load->up[1] = sums[3];
	return gt_vertices_init(plan, arena, &load->vertices, err);
}

/* All channels stand in one row: they are parts of one packing. */
int gt_check_cluster_loads(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster_load load;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_cluster_load_init(&load, plan, arena, err);
	for (uint32_t c = 0; c < plan->nchannels && !rc; c++) {
		const struct gt_plan_channel *channel = &plan->channels[c];
		int ok = gt_load_rate(&load, channel);

		for (uint32_t t = 0; t < plan->cluster->nlocal && ok; t++)
			ok = gt_load_template(&load, channel,
					      &channel->templates[t]);
		if (!ok)
			rc = gt_plan_wrong(plan, gt_plan_at("channels[%u]", c),
					   err, "loads need more than 64 bits");
	}
	if (!rc)
		rc = gt_check_sums(&load, err);
	gt_arena_free(arena);
	return rc;
}
