/*
 * A flow of a cluster: a path for every pair of local ranks and class of nodes,
 * and the load of those paths on a node's links and on uplinks.
 */
#include "plan/check/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/cluster_load.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* The check of one channel's paths. */
struct gt_cluster_flow_check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t c, p; /* indices of the channel and of the path */
	/* [(class * nlocal + from) * nlocal + to]: paths */
	unsigned char *met;
	unsigned char *seen; /* by local rank, on one side of the network */
};

static struct gt_plan_at gt_path_at(const struct gt_cluster_flow_check *check)
{
	return gt_plan_at("channels[%u].paths[%u]", check->c, check->p);
}

static uint32_t gt_path_start(const struct gt_plan_channel *channel,
			      const struct gt_plan_path *path)
{
	return channel->hops[path->hops[0]].from;
}

static uint32_t gt_path_end(const struct gt_plan_channel *channel,
			    const struct gt_plan_path *path)
{
	return channel->hops[path->hops[path->nhops - 1]].to;
}

/*
 * The fault of a path that passes a rank twice in one of its two nodes, or
 * NULL.
 */
static const char *gt_path_circle(struct gt_cluster_flow_check *check,
				  const struct gt_plan_path *path)
{
	const struct gt_plan_hop *hops = check->channel->hops;
	uint32_t n = check->plan->cluster->nlocal;

	memset(check->seen, 0, n);
	check->seen[hops[path->hops[0]].from] = 1;
	for (uint32_t k = 0; k < path->nhops; k++) {
		const struct gt_plan_hop *hop = &hops[path->hops[k]];

		if (hop->network)
			memset(check->seen, 0, n);
		if (check->seen[hop->to]++)
			return "goes through a rank twice";
	}
	return NULL;
}

/*
 * The fault of a path whose hops do not meet, or that crosses the network more
 * or less often than its class says, or NULL.
 */
static const char *gt_path_fault(struct gt_cluster_flow_check *check,
				 const struct gt_plan_path *path)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t crossings = 0;

	if (path->class_ > check->plan->cluster->nlevels)
		return "is of a class that is not there";
	if (!path->nhops)
		return "has no hops";
	for (uint32_t k = 0; k < path->nhops; k++) {
		if (path->hops[k] >= channel->nhops)
			return "has a hop that the channel does not have";
		crossings += !!channel->hops[path->hops[k]].network;
		if (k && channel->hops[path->hops[k]].from !=
				 channel->hops[path->hops[k - 1]].to)
			return "has hops that do not meet";
	}
	if (crossings != (path->class_ ? 1u : 0u))
		return "does not cross the network once, or at all within a "
		       "node";
	return gt_path_circle(check, path);
}

static int gt_check_one_path(struct gt_cluster_flow_check *check,
			     struct gt_err *err)
{
	const struct gt_plan_path *path = &check->channel->paths[check->p];
	const char *fault = gt_path_fault(check, path);
	uint32_t n = check->plan->cluster->nlocal, from, to;

	if (fault)
		return gt_plan_wrong(check->plan, gt_path_at(check), err, "%s",
				     fault);
	from = gt_path_start(check->channel, path);
	to = gt_path_end(check->channel, path);
	if (!check->met[(path->class_ * n + from) * n + to]++)
		return GT_OK;
	return gt_plan_wrong(check->plan, gt_path_at(check), err,
			     "is a second one of class %u from %u to %u",
			     path->class_, from, to);
}

/*
 * There is a path from every rank to every other one, for each class that has
 * nodes.
 */
static int gt_check_all_pairs(const struct gt_cluster_flow_check *check,
			      struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = check->plan->cluster;
	uint32_t n = cluster->nlocal;

	for (uint32_t i = 0; i < (cluster->nlevels + 1) * n * n; i++) {
		uint32_t class_ = i / n / n, from = i / n % n, to = i % n;

		if (check->met[i] || (!class_ && from == to) ||
		    !gt_nodes_in_class(cluster, class_))
			continue;
		return gt_plan_wrong(
			check->plan, gt_plan_at("channels[%u].paths", check->c),
			err, "there is none of class %u from %u to %u", class_,
			from, to);
	}
	return GT_OK;
}

int gt_check_cluster_flow(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err)
{
	struct gt_cluster_flow_check check = {
		.plan = plan, .channel = &plan->channels[c], .c = c};
	size_t n = plan->cluster->nlocal;
	int rc = GT_OK;

	check.met = calloc((plan->cluster->nlevels + 1) * n * n, 1);
	check.seen = calloc(n, 1);
	if (!check.met || !check.seen)
		rc = gt_err_nomem(err);
	for (; !rc && check.p < check.channel->npaths; check.p++)
		rc = gt_check_one_path(&check, err);
	if (!rc)
		rc = gt_check_all_pairs(&check, err);
	free(check.met);
	free(check.seen);
	return rc;
}

/*
 * Add a hop's load on uplinks: all nodes below a switch send at this rate to
 * all nodes that are not below it, and get as much from them.
 */
static int gt_load_path_uplinks(struct gt_cluster_load *load,
				const struct gt_plan_hop *hop, uint32_t class_)
{
	const struct gt_link_graph *v = &load->vertices;
	const struct gt_plan_cluster *cluster = load->plan->cluster;
	struct gt_rat rate;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t port = v->port[v->to[hop->route[i]]];

		for (uint32_t l = 0; port != GT_NO_VERTEX && l + 1 < class_;
		     l++) {
			struct gt_rat *up = &load->up[0][gt_cluster_load_uplink(
				load, l, port)];

			if (!gt_rat_mul(load->rate,
					GT_RAT(cluster->levels[l].nodes, 1),
					&rate) ||
			    !gt_rat_add(*up, rate, up))
				return 0;
		}
	}
	return 1;
}

/*
 * A path is taken once for each node of its class, so its rate counts that
 * often.
 */
int gt_cluster_load_flow(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel)
{
	int ok = 1;

	for (uint32_t p = 0; p < channel->npaths && ok; p++) {
		const struct gt_plan_path *path = &channel->paths[p];
		uint32_t times =
			gt_nodes_in_class(load->plan->cluster, path->class_);

		ok = gt_rat_mul(channel->gbs, GT_RAT(times, 1), &load->rate);
		for (uint32_t k = 0; k < path->nhops && ok; k++) {
			const struct gt_plan_hop *hop =
				&channel->hops[path->hops[k]];

			ok = gt_cluster_load_half(load, hop, 0, load->links) &&
			     gt_cluster_load_half(load, hop, 1, load->links) &&
			     gt_load_path_uplinks(load, hop, path->class_);
		}
	}
	return ok;
}
