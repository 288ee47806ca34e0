/*
 * Loads of a cluster's plan, row by row: templates are summed up here, rings
 * and flows by their own files, and each sum is compared with the capacity.
 */
#include "plan/check/cluster.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/cluster_load.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

static int gt_add_load(struct gt_rat *at, struct gt_rat rate,
		       struct gt_rat times)
{
	struct gt_rat load;

	return gt_rat_mul(rate, times, &load) && gt_rat_add(*at, load, at);
}

/*
 * The uplinks above a port carry a block once for each node that is not below
 * their switch.
 */
static int gt_load_uplinks(struct gt_cluster_load *load, uint32_t port)
{
	const struct gt_plan_cluster *cluster = load->plan->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		const struct gt_plan_level *level = &cluster->levels[l];
		struct gt_rat nodes = GT_RAT(cluster->nnodes - level->nodes, 1);

		if (!gt_add_load(
			    &load->up[0][gt_cluster_load_uplink(load, l, port)],
			    load->rate, nodes))
			return 0;
	}
	return 1;
}

/*
 * A template's hop loads the links of two nodes and the uplinks between them.
 * The charge is the sender's, so it ends at the port.
 */
static int gt_load_template_hop(struct gt_cluster_load *load,
				const struct gt_plan_hop *hop, uint32_t times)
{
	const struct gt_link_graph *v = &load->vertices;
	struct gt_rat charge = hop->charge, factor;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[i], port;

		if (v->port[v->from[link]] != GT_NO_VERTEX)
			charge = GT_RAT(1, 1);
		port = v->port[v->to[link]];
		if (port != GT_NO_VERTEX && !gt_load_uplinks(load, port))
			return 0;
		if (!gt_rat_mul(gt_plan_link_charge(load->plan, link, charge),
				GT_RAT(times, 1), &factor) ||
		    !gt_add_load(&load->links[link], load->rate, factor) ||
		    !gt_add_load(&load->odd[link], load->rate, factor))
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

/*
 * The rate of one block: a block is 1/n of the result, and an all-reduce takes
 * a tree's edges twice, up and then down.
 */
static int gt_load_rate(struct gt_cluster_load *load, enum gt_coll coll,
			const struct gt_plan_channel *channel)
{
	int64_t times = coll == GT_COLL_ALLREDUCE ? 2 : 1;

	return gt_rat_mul(channel->gbs, GT_RAT(times, 1), &load->rate) &&
	       gt_rat_div(load->rate, GT_RAT(load->plan->nranks, 1),
			  &load->rate);
}

/*
 * Is the load of link i within its capacity?  Trees that bytes only go up load
 * the links back alone.
 */
static int gt_check_sum(const struct gt_cluster_load *load,
			const struct gt_plan_select *row, uint32_t i,
			struct gt_err *err)
{
	const struct gt_plan *plan = load->plan;
	const struct gt_plan_link *link = &plan->links[i];
	int trees = row->algo == GT_ALGO_HIER;
	int rc = GT_OK;

	if (!trees || row->coll != GT_COLL_REDUCESCATTER)
		rc = gt_cluster_load_fits(plan, load->links[i], link->gbs,
					  link->id, err);
	if (!rc && row->algo == GT_ALGO_RING)
		rc = gt_cluster_load_fits(plan, load->odd[i], link->gbs,
					  link->id, err);
	if (rc || !trees || row->coll == GT_COLL_ALLGATHER)
		return rc;
	rc = gt_cluster_load_fits(plan, load->back[i], link->gbs, link->id,
				  err);
	if (!rc && load->links[i].num && load->vertices.back[i] == GT_NO_VERTEX)
		rc = gt_plan_wrong(plan, gt_plan_at("links[%u]", i), err,
				   "'%s' has no link back, which %s takes",
				   link->id, gt_coll_name(row->coll));
	return rc;
}

/*
 * As hops stay on their rail, and nodes are alike, uplinks carry as much into
 * switches as out of them.
 */
static int gt_check_sums(const struct gt_cluster_load *load,
			 const struct gt_plan_select *row, struct gt_err *err)
{
	const struct gt_plan *plan = load->plan;
	const struct gt_plan_cluster *cluster = plan->cluster;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nlinks && !rc; i++)
		rc = gt_check_sum(load, row, i, err);
	for (uint32_t i = 0;
	     i < (cluster->nlevels - 1) * cluster->nrails && !rc; i++)
		rc = gt_cluster_load_fits(
			plan, load->up[0][i],
			cluster->levels[i / cluster->nrails].gbs, "uplink",
			err);
	return rc;
}

static int gt_load_cluster_channel(struct gt_cluster_load *load,
				   enum gt_coll coll,
				   const struct gt_plan_channel *channel)
{
	int ok;

	if (channel->shape == GT_SHAPE_RING)
		return gt_cluster_load_ring(load, channel);
	if (channel->shape == GT_SHAPE_FLOW)
		return gt_cluster_load_flow(load, channel);
	ok = gt_load_rate(load, coll, channel);
	for (uint32_t t = 0; t < load->plan->cluster->nlocal && ok; t++)
		ok = gt_load_template(load, channel, &channel->templates[t]);
	return ok;
}

/* The channels of a row share the links, so their loads are added up. */
static int gt_check_cluster_row(const struct gt_plan *plan,
				const struct gt_plan_select *row,
				struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster_load load = {0};
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	if (row->algo == GT_ALGO_TREE) {
		gt_arena_free(arena);
		return gt_check_cluster_tree_row(plan, row, err);
	}
	rc = gt_cluster_load_init(&load, plan, arena, err);
	for (uint32_t i = 0; i < row->nchannels && !rc; i++) {
		uint32_t c = row->channels[i];

		if (!gt_load_cluster_channel(&load, row->coll,
					     &plan->channels[c]))
			rc = gt_plan_wrong(plan, gt_plan_at("channels[%u]", c),
					   err, "loads need more than 64 bits");
	}
	if (!rc)
		rc = gt_check_sums(&load, row, err);
	gt_arena_free(arena);
	return rc;
}

int gt_check_cluster_loads(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = gt_check_cluster_row(plan, &plan->select[i], err);
	return rc;
}
