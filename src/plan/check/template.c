/*
 * The graphs of a cluster's plan: levels of switches, hops from port to port,
 * and templates, the trees of one node's blocks.  Rings, trees and flows are
 * checked in files of their own.
 */
#include "plan/check/cluster.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum {
	GT_MAX_CHANNELS = 1024,
	GT_MAX_LEVELS = 16,
	GT_MAX_CHILDREN = 254, /* the most that a step can send to */
};

struct gt_template_check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t c, t; /* indices of the channel and of the tree */
	const struct gt_plan_template *tree;
};

static int gt_check_level(const struct gt_plan *plan, uint32_t i,
			  struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	const struct gt_plan_level *level = &cluster->levels[i];
	struct gt_plan_at at = gt_plan_at("cluster.levels[%u]", i);
	uint32_t below = i ? level[-1].nodes : 1;
	int last = i + 1 == cluster->nlevels;

	if (!level->nodes || level->nodes % below ||
	    (last && level->nodes != cluster->nnodes))
		return gt_plan_wrong(plan, at, err,
				     "'%u' nodes are no multiple of the level "
				     "below, or the last is not all %u",
				     level->nodes, cluster->nnodes);
	if (i && level->by_rail && !level[-1].by_rail)
		return gt_plan_wrong(plan, at, err,
				     "is by rail above one that is not");
	if (!last && level->gbs.num <= 0)
		return gt_plan_wrong(plan, at, err, "has no uplink_gbs");
	return GT_OK;
}

static int gt_check_levels(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	int rc = GT_OK;

	if (!cluster->nlevels || cluster->nlevels > GT_MAX_LEVELS)
		return gt_plan_wrong(plan, gt_plan_at("cluster.levels"), err,
				     "there are %u, not 1 to %d",
				     cluster->nlevels, GT_MAX_LEVELS);
	for (uint32_t i = 0; i < cluster->nlevels && !rc; i++)
		rc = gt_check_level(plan, i, err);
	return rc;
}

/*
 * The fault of a hop, or NULL: its links follow each other from the one rank to
 * the other, and where a port is reached the route goes on at a port of another
 * node.
 */
static const char *gt_hop_fault(const struct gt_plan *plan,
				const struct gt_link_graph *v,
				const struct gt_plan_hop *hop)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	uint32_t at, crossings = 0, out, in;

	if (hop->from >= cluster->nlocal || hop->to >= cluster->nlocal)
		return "is not between ranks of a node";
	at = v->rank[hop->from];
	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[i];

		if (at != GT_NO_VERTEX && v->port[at] != GT_NO_VERTEX) {
			out = v->port[at];
			in = v->port[v->from[link]];
			crossings++;
			if (in == GT_NO_VERTEX)
				return "does not go from port to port";
			if (cluster->levels[0].by_rail &&
			    cluster->ports[out].rail != cluster->ports[in].rail)
				return "goes from one rail to another";
		} else if (at != v->from[link]) {
			return "has a route whose links do not meet";
		}
		at = v->to[link];
	}
	if (at == GT_NO_VERTEX || at != v->rank[hop->to])
		return "has a route that does not lead there";
	if (crossings != (hop->network ? 1u : 0u))
		return "is of the network but stays in the node, or the "
		       "other way round";
	return NULL;
}

/* Each hop of a channel, by itself: links that meet, from port to port. */
static int check_hops(const struct gt_plan *plan,
		      const struct gt_link_graph *vertices, uint32_t c,
		      struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];

	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];
		const char *fault = "has a charge of less than 1";

		if (gt_rat_cmp(hop->charge, GT_RAT(1, 1)) >= 0)
			fault = gt_hop_fault(plan, vertices, hop);
		if (fault)
			return gt_plan_wrong(
				plan, gt_plan_at("channels[%u].hops[%u]", c, i),
				err, "from %u to %u %s", hop->from, hop->to,
				fault);
	}
	return GT_OK;
}

/* Every rank leads up to one without a parent, in at most nlocal steps. */
static int gt_check_reach(const struct gt_template_check *check,
			  const int32_t *parents, const char *key,
			  struct gt_err *err)
{
	uint32_t n = check->plan->cluster->nlocal, steps;
	int64_t up;

	for (uint32_t i = 0; i < n; i++) {
		up = parents[i];
		for (steps = 0; up >= 0 && up < n && steps < n; steps++)
			up = parents[up];
		if (up < 0)
			continue;
		return gt_plan_wrong(check->plan,
				     gt_plan_at("channels[%u].trees[%u].%s[%u]",
						check->c, check->t, key, i),
				     err, "does not lead up to a root");
	}
	return GT_OK;
}

static int gt_has_hop(const struct gt_plan_channel *channel, int64_t from,
		      uint32_t to)
{
	for (uint32_t i = 0; i < channel->nhops; i++)
		if (!channel->hops[i].network &&
		    channel->hops[i].from == from && channel->hops[i].to == to)
			return 1;
	return 0;
}

static int gt_check_edges(const struct gt_template_check *check,
			  struct gt_err *err)
{
	const struct gt_plan_template *tree = check->tree;
	const struct gt_plan_channel *channel = check->channel;

	for (uint32_t i = 0; i < check->plan->cluster->nlocal; i++) {
		struct gt_plan_at at = gt_plan_at("channels[%u].trees[%u]",
						  check->c, check->t);

		if ((tree->home[i] < 0) != (i == tree->root))
			return gt_plan_wrong(check->plan, at, err,
					     "home: the root, rank %u, and it "
					     "alone has parent -1",
					     tree->root);
		if ((tree->home[i] >= 0 &&
		     !gt_has_hop(channel, tree->home[i], i)) ||
		    (tree->away[i] >= 0 &&
		     !gt_has_hop(channel, tree->away[i], i)))
			return gt_plan_wrong(check->plan, at, err,
					     "no hop leads to rank %u from its "
					     "parent",
					     i);
		if (tree->away[i] < 0 &&
		    (tree->net[i] >= channel->nhops ||
		     !channel->hops[tree->net[i]].network ||
		     channel->hops[tree->net[i]].to != i))
			return gt_plan_wrong(check->plan, at, err,
					     "net: '%d' is no hop over the "
					     "network to rank %u",
					     (int)tree->net[i], i);
	}
	return GT_OK;
}

/*
 * No rank has more children, in its node and over the network, than a step can
 * send to.
 */
static int gt_check_fan(const struct gt_template_check *check,
			const uint32_t *fan, struct gt_err *err)
{
	const struct gt_plan_template *tree = check->tree;
	uint32_t n = check->plan->cluster->nlocal;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t home = 0, away = 0, net = 0;

		for (uint32_t j = 0; j < n; j++) {
			home += tree->home[j] == (int64_t)i;
			away += tree->away[j] == (int64_t)i;
			net += tree->away[j] < 0 &&
			       check->channel->hops[tree->net[j]].from == i;
		}
		if ((home > away ? home : away) + net * *fan <= GT_MAX_CHILDREN)
			continue;
		return gt_plan_wrong(check->plan,
				     gt_plan_at("channels[%u].trees[%u]",
						check->c, check->t),
				     err, "rank %u has more than %d children",
				     i, GT_MAX_CHILDREN);
	}
	return GT_OK;
}

static int gt_check_template(struct gt_template_check *check,
			     const uint32_t *fan, struct gt_err *err)
{
	int rc;

	check->tree = &check->channel->templates[check->t];
	if (check->tree->root != check->t)
		return gt_plan_wrong(check->plan,
				     gt_plan_at("channels[%u].trees[%u].root",
						check->c, check->t),
				     err, "'%u' stands where %u belongs",
				     check->tree->root, check->t);
	rc = gt_check_reach(check, check->tree->home, "home", err);
	if (!rc)
		rc = gt_check_reach(check, check->tree->away, "away", err);
	if (!rc)
		rc = gt_check_edges(check, err);
	return rc ? rc : gt_check_fan(check, fan, err);
}

static int gt_check_trees(struct gt_template_check *check, const uint32_t *fan,
			  struct gt_err *err)
{
	int rc = GT_OK;

	for (check->t = 0; check->t < check->plan->cluster->nlocal && !rc;
	     check->t++)
		rc = gt_check_template(check, fan, err);
	return rc ? rc : gt_check_template_order(check->plan, check->c, err);
}

static int gt_check_all(const struct gt_plan *plan, struct gt_arena *arena,
			struct gt_err *err)
{
	struct gt_link_graph vertices;
	struct gt_template_check check = {.plan = plan};
	uint32_t *children, fan;
	int rc = gt_link_graph_init(plan, arena, &vertices, err);

	if (rc)
		return rc;
	children = gt_arena_array(arena, gt_nodes_fan(plan->cluster),
				  sizeof(*children));
	if (!children)
		return gt_err_nomem(err);
	/* No place has more children than place 0. */
	fan = gt_nodes_children(plan->cluster, 0, children);
	for (check.c = 0; check.c < plan->nchannels && !rc; check.c++) {
		check.channel = &plan->channels[check.c];
		rc = check_hops(plan, &vertices, check.c, err);
		if (rc)
			return rc;
		if (check.channel->shape == GT_SHAPE_TEMPLATE)
			rc = gt_check_trees(&check, &fan, err);
		else if (check.channel->shape == GT_SHAPE_RING)
			rc = gt_check_cluster_ring(plan, check.c, err);
		else if (check.channel->shape == GT_SHAPE_TREE)
			rc = gt_check_cluster_tree(plan, check.c, err);
		else if (check.channel->shape == GT_SHAPE_FLOW)
			rc = gt_check_cluster_flow(plan, check.c, err);
		else
			rc = gt_plan_wrong(
				plan, gt_plan_at("channels[%u].shape", check.c),
				err,
				"a plan of a cluster has templates, rings, "
				"trees and flows only");
	}
	return rc;
}

int gt_check_templates(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_arena *arena;
	int rc = gt_check_levels(plan, err);

	if (!rc && (!plan->nchannels || plan->nchannels > GT_MAX_CHANNELS))
		rc = gt_plan_wrong(plan, gt_plan_at("channels"), err,
				   "there are %u", plan->nchannels);
	if (rc)
		return rc;
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	rc = gt_check_all(plan, arena, err);
	gt_arena_free(arena);
	return rc;
}
