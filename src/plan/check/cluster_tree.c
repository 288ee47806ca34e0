/*
 * Trees of a cluster, the two of a double binary tree over the nodes: the tree
 * within a node, and the load on every node and switch.  Nodes and switches
 * that carry the same are looked at once.
 */
#include "plan/check/cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/cluster_load.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/*
 * The traffic of a node, or of all nodes below a switch: for each of the two
 * trees, how many hops lead out of it to children, and how many to parents.
 * Only few are different.
 */
struct gt_tree_traffic {
	uint32_t down[2], up[2];
	int top; /* it is the root's node */
};

enum { GT_TREE_KINDS = 4096 };

struct gt_tree_check {
	const struct gt_plan *plan;
	const struct gt_plan_select *row;
	struct gt_cluster_load load;
	uint32_t origin; /* the node of the root */
	uint32_t top;    /* the root's local rank; UINT32_MAX: the head */
	uint32_t nkinds;
	struct gt_tree_traffic *kinds;
};

/*
 * A tree's hops are listed by child, the one down to it and then the one up
 * from it; the last one is the network's.
 */
static int gt_check_tree_hop(const struct gt_plan *plan, uint32_t c, uint32_t i,
			     struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	const struct gt_plan_hop *hop = &channel->hops[i];
	uint32_t child = i / 2, from = channel->root, to = channel->root;
	int last = i + 1 == channel->nhops;

	child += child >= channel->root;
	if (!last) {
		from = i % 2 ? child : (uint32_t)channel->parent[child];
		to = i % 2 ? (uint32_t)channel->parent[child] : child;
	}
	if (hop->from == from && hop->to == to && hop->network == last)
		return GT_OK;
	return gt_plan_wrong(
		plan, gt_plan_at("channels[%u].hops[%u]", c, i), err,
		"goes from %u to %u where the tree goes from %u "
		"to %u%s",
		hop->from, hop->to, from, to, last ? " of another node" : "");
}

static int gt_check_tree_parents(const struct gt_plan *plan, uint32_t c,
				 struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	uint32_t n = plan->cluster->nlocal;

	for (uint32_t i = 0; i < n; i++) {
		int64_t up = i;
		uint32_t steps = 0;

		while (up >= 0 && up < n && up != channel->root && steps++ < n)
			up = channel->parent[up];
		if (up == channel->root &&
		    (channel->parent[i] < 0) == (i == channel->root))
			continue;
		return gt_plan_wrong(
			plan, gt_plan_at("channels[%u].parent[%u]", c, i), err,
			"does not lead up to the root, rank %u", channel->root);
	}
	return GT_OK;
}

int gt_check_cluster_tree(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	uint32_t n = plan->cluster->nlocal;
	int rc;

	if (plan->cluster->nnodes < 2 || channel->root >= n)
		return gt_plan_wrong(plan, gt_plan_at("channels[%u]", c), err,
				     "a tree of a cluster needs two nodes, and "
				     "as its root a rank of a node");
	if (channel->nhops != 2 * n - 1)
		return gt_plan_wrong(plan, gt_plan_at("channels[%u].hops", c),
				     err,
				     "there are %u for a tree of %u ranks a "
				     "node, which needs %u",
				     channel->nhops, n, 2 * n - 1);
	rc = gt_check_tree_parents(plan, c, err);
	for (uint32_t i = 0; i < channel->nhops && !rc; i++)
		rc = gt_check_tree_hop(plan, c, i, err);
	return rc;
}

static uint32_t gt_tree_at(const struct gt_tree_check *r, uint32_t place)
{
	return (r->origin + place) % r->plan->cluster->nnodes;
}

/* The traffic of `count` nodes in a row from `first` on. */
static struct gt_tree_traffic gt_tree_traffic_of(const struct gt_tree_check *r,
						 uint32_t first, uint32_t count)
{
	uint32_t n = r->plan->cluster->nnodes, places[GT_DTREE_FAN];
	struct gt_tree_traffic kind = {.top = 0};

	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t node = first + i / 2, tree = i % 2, nplaces;
		uint32_t place = (node + n - r->origin) % n;

		kind.top |= !place && count == 1;
		nplaces = gt_nodes_dtree_children(n, (int)tree, place, places);
		for (uint32_t k = 0; k < nplaces; k++)
			kind.down[tree] +=
				gt_tree_at(r, places[k]) - first >= count;
		if (place)
			kind.up[tree] +=
				gt_tree_at(r, gt_nodes_dtree_parent(
						      n, (int)tree, place)) -
					first >=
				count;
	}
	return kind;
}

/*
 * Collect the different traffics of nodes or, with more than 1, of switches
 * that hold so many `nodes`.  The result is 0 when there are too many.
 */
static int gt_tree_kinds(struct gt_tree_check *r, uint32_t nodes)
{
	r->nkinds = 0;
	for (uint32_t first = 0; first < r->plan->cluster->nnodes;
	     first += nodes) {
		struct gt_tree_traffic kind =
			gt_tree_traffic_of(r, first, nodes);
		uint32_t i = 0;

		while (i < r->nkinds &&
		       memcmp(&r->kinds[i], &kind, sizeof(kind)))
			i++;
		if (i == GT_TREE_KINDS)
			return 0;
		if (i == r->nkinds)
			r->kinds[r->nkinds++] = kind;
	}
	return 1;
}

/*
 * Does the edge above this rank turn round in the root's node, where all ranks
 * hang from the root?
 */
static int gt_tree_turns(const struct gt_tree_check *r,
			 const struct gt_plan_channel *channel, uint32_t local)
{
	uint32_t up = r->top;

	while (up != UINT32_MAX && up != local)
		up = up == channel->root ? UINT32_MAX
					 : (uint32_t)channel->parent[up];
	return up == local;
}

/* Add a tree's load on the links of a node with this traffic. */
static int gt_tree_load(struct gt_tree_check *r,
			const struct gt_plan_channel *channel,
			const struct gt_tree_traffic *kind)
{
	int down = gt_coll_goes_down(r->row->coll);
	int up = gt_coll_goes_up(r->row->coll), ok = 1;
	const struct gt_plan_hop *net = &channel->hops[channel->nhops - 1];
	uint32_t out = 0, in = 0, tree = (uint32_t)channel->second;

	r->load.rate = channel->gbs;
	for (uint32_t i = 0; i + 1 < channel->nhops && ok; i++) {
		uint32_t child = i / 2 + (i / 2 >= channel->root);
		int goes_up = (int)(i % 2) ^
			      (kind->top && gt_tree_turns(r, channel, child));

		if (goes_up ? up : down)
			ok = gt_cluster_load_half(&r->load, &channel->hops[i],
						  0, r->load.links);
	}
	out = (down ? kind->down[tree] : 0) + (up ? kind->up[tree] : 0);
	in = (down ? kind->up[tree] : 0) + (up ? kind->down[tree] : 0);
	return ok && gt_rat_mul(channel->gbs, GT_RAT(out, 1), &r->load.rate) &&
	       gt_cluster_load_half(&r->load, net, 0, r->load.links) &&
	       gt_rat_mul(channel->gbs, GT_RAT(in, 1), &r->load.rate) &&
	       gt_cluster_load_half(&r->load, net, 1, r->load.links);
}

static int gt_check_tree_nodes(struct gt_tree_check *r, struct gt_err *err)
{
	const struct gt_plan *plan = r->plan;
	int rc = GT_OK;

	for (uint32_t k = 0; k < r->nkinds && !rc; k++) {
		int ok = 1;

		for (uint32_t i = 0; i < plan->nlinks; i++)
			r->load.links[i] = GT_RAT(0, 1);
		for (uint32_t i = 0; i < r->row->nchannels && ok; i++)
			ok = gt_tree_load(r,
					  &plan->channels[r->row->channels[i]],
					  &r->kinds[k]);
		if (!ok)
			return gt_plan_wrong(plan, gt_plan_at("channels"), err,
					     "loads need more than 64 bits");
		for (uint32_t i = 0; i < plan->nlinks && !rc; i++)
			rc = gt_cluster_load_fits(plan, r->load.links[i],
						  plan->links[i].gbs,
						  plan->links[i].id, err);
	}
	return rc;
}

/*
 * The port by which a network hop leaves its first node or, with `in`, enters
 * the second.
 */
static uint32_t gt_tree_port(const struct gt_tree_check *r,
			     const struct gt_plan_hop *net, int in)
{
	const struct gt_link_graph *v = &r->load.vertices;
	uint32_t k = 0;

	while (v->port[v->to[net->route[k]]] == GT_NO_VERTEX)
		k++;
	return in ? v->port[v->from[net->route[k + 1]]]
		  : v->port[v->to[net->route[k]]];
}

static int gt_tree_load_up(struct gt_tree_check *r, uint32_t level,
			   const struct gt_plan_channel *channel,
			   const struct gt_tree_traffic *kind)
{
	const struct gt_plan_hop *net = &channel->hops[channel->nhops - 1];
	int down = gt_coll_goes_down(r->row->coll);
	int up = gt_coll_goes_up(r->row->coll);
	uint32_t tree = (uint32_t)channel->second;

	for (int in = 0; in < 2; in++) {
		struct gt_rat *sum = &r->load.up[in][gt_cluster_load_uplink(
			&r->load, level, gt_tree_port(r, net, in))];
		uint32_t times =
			(down ? (in ? kind->up : kind->down)[tree] : 0) +
			(up ? (in ? kind->down : kind->up)[tree] : 0);
		struct gt_rat load;

		if (!gt_rat_mul(channel->gbs, GT_RAT(times, 1), &load) ||
		    !gt_rat_add(*sum, load, sum))
			return 0;
	}
	return 1;
}

static int gt_check_tree_switches(struct gt_tree_check *r, uint32_t level,
				  struct gt_err *err)
{
	const struct gt_plan *plan = r->plan;
	uint32_t nup = plan->cluster->nlevels * plan->cluster->nrails;
	int rc = GT_OK, ok = 1;

	for (uint32_t k = 0; k < r->nkinds && !rc; k++) {
		for (uint32_t i = 0; i < 2 * nup; i++)
			r->load.up[i % 2][i / 2] = GT_RAT(0, 1);
		for (uint32_t i = 0; i < r->row->nchannels && ok; i++)
			ok = gt_tree_load_up(
				r, level, &plan->channels[r->row->channels[i]],
				&r->kinds[k]);
		if (!ok)
			return gt_plan_wrong(plan, gt_plan_at("channels"), err,
					     "loads need more than 64 bits");
		for (uint32_t i = 0; i < 2 * nup && !rc; i++)
			rc = gt_cluster_load_fits(
				plan, r->load.up[i % 2][i / 2],
				plan->cluster->levels[level].gbs, "uplink",
				err);
	}
	return rc;
}

static int gt_check_tree_loads(struct gt_tree_check *r, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = r->plan->cluster;
	int rc = gt_tree_kinds(r, 1) ? gt_check_tree_nodes(r, err) : GT_ENO;

	for (uint32_t l = 0; l + 1 < cluster->nlevels && !rc; l++)
		rc = gt_tree_kinds(r, cluster->levels[l].nodes)
			     ? gt_check_tree_switches(r, l, err)
			     : GT_ENO;
	if (rc == GT_ENO && (!err || !err->text[0]))
		return gt_plan_wrong(r->plan, gt_plan_at("cluster.levels"), err,
				     "have more kinds of switches than are "
				     "looked at");
	return rc;
}

int gt_check_cluster_tree_row(const struct gt_plan *plan,
			      const struct gt_plan_select *row,
			      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rooted = gt_coll_is_rooted(row->coll);
	struct gt_tree_check r = {.plan = plan, .row = row, .top = UINT32_MAX};
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	if (rooted) {
		r.origin = plan->root / plan->cluster->nlocal;
		r.top = plan->root % plan->cluster->nlocal;
	}
	r.kinds = gt_arena_array(arena, GT_TREE_KINDS, sizeof(*r.kinds));
	rc = r.kinds ? gt_cluster_load_init(&r.load, plan, arena, err)
		     : gt_err_nomem(err);
	if (!rc && gt_coll_has_blocks(row->coll))
		rc = gt_plan_wrong(plan, gt_plan_at("select"), err,
				   "trees of a cluster do no '%s'",
				   gt_coll_name(row->coll));
	if (!rc)
		rc = gt_check_tree_loads(&r, err);
	gt_arena_free(arena);
	return rc;
}
