/*
 * Channels through switches that multicast and add up: a tree in which each
 * rank is one leaf below a switch, so every contribution is added once and the
 * result gets everywhere, and whose edges are ways along the plan's links.
 */
#include "plan/check/switch_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/check/stages.h"
#include "plan/ir/plan.h"

struct check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t index;
	const struct gt_link_graph *graph;
	/* By rank 1 + its vertex as a leaf, and as one that drives. */
	uint32_t *leaf, *driver;
	uint32_t *children; /* by vertex */
};

static struct gt_plan_at vertex_at(const struct check *c, uint32_t i)
{
	return gt_plan_at("channels[%u].vertices[%u]", c->index, i);
}

/* The vertex of the graph of links, or GT_NO_VERTEX. */
static uint32_t find_vertex(const struct check *c,
			    const struct gt_plan_vertex *vertex)
{
	return vertex->name ? gt_link_graph_find(c->graph, vertex->name)
			    : c->graph->rank[vertex->rank];
}

/* Do the links lead from one vertex to the other, through no GPU? */
static int leads(const struct check *c, uint32_t n, const uint32_t *links,
		 uint32_t from, uint32_t to)
{
	uint32_t at = from;

	for (uint32_t i = 0; i < n; i++) {
		if (links[i] >= c->plan->nlinks ||
		    c->graph->from[links[i]] != at ||
		    (i && strstr(c->graph->names[at], "GPU/")))
			return 0;
		at = c->graph->to[links[i]];
	}
	return n && at == to && from != GT_NO_VERTEX;
}

/* An edge has a way up, a way down, or both. */
static int check_edge(const struct check *c, uint32_t i, struct gt_err *err)
{
	const struct gt_plan_vertex *vertex = &c->channel->vertices[i];
	uint32_t from = find_vertex(c, vertex);
	uint32_t to = find_vertex(c, &c->channel->vertices[vertex->parent]);

	if ((vertex->nup || vertex->ndown) &&
	    (!vertex->nup || leads(c, vertex->nup, vertex->up, from, to)) &&
	    (!vertex->ndown || leads(c, vertex->ndown, vertex->down, to, from)))
		return GT_OK;
	return gt_plan_wrong(c->plan, vertex_at(c, i), err,
			     "its links do not lead to its parent and back");
}

/* Note where a rank is, which is a leaf once and drives at most once. */
static int check_rank(const struct check *c, uint32_t i, struct gt_err *err)
{
	const struct gt_plan_vertex *vertex = &c->channel->vertices[i];
	uint32_t *place = vertex->drives ? c->driver : c->leaf;

	if (vertex->rank >= c->plan->nranks)
		return gt_plan_wrong(c->plan, vertex_at(c, i), err,
				     "there is no rank '%u'", vertex->rank);
	place += vertex->rank;
	if (*place)
		return gt_plan_wrong(c->plan, vertex_at(c, i), err,
				     "rank %u %s a second time", vertex->rank,
				     vertex->drives ? "drives" : "is a leaf");
	*place = i + 1;
	return GT_OK;
}

/* The root is the first vertex; parents stand before their children. */
static int check_vertex(const struct check *c, uint32_t i, struct gt_err *err)
{
	const struct gt_plan_vertex *vertex = &c->channel->vertices[i];
	const struct gt_plan_vertex *parent;

	if (i ? vertex->parent < 0 || (uint32_t)vertex->parent >= i
	      : vertex->parent >= 0)
		return gt_plan_wrong(c->plan, vertex_at(c, i), err,
				     "the parent is not one of the vertices "
				     "before");
	if (!vertex->name && check_rank(c, i, err))
		return GT_ENO;
	if (!i)
		return GT_OK;
	parent = &c->channel->vertices[vertex->parent];
	c->children[vertex->parent]++;
	if (!parent->name && !parent->drives)
		return gt_plan_wrong(c->plan, vertex_at(c, i), err,
				     "hangs from a rank that does not drive");
	if (!parent->name && !vertex->name)
		return gt_plan_wrong(c->plan, vertex_at(c, i), err,
				     "a rank hangs from a rank, not from a "
				     "switch");
	return check_edge(c, i, err);
}

/*
 * Who drives has one switch below it, from which it hangs as a leaf as well:
 * GPUs reach what a switch multicasts only as members of the group themselves.
 * A switch joins two or more.
 */
static int check_inner(const struct check *c, uint32_t i, struct gt_err *err)
{
	const struct gt_plan_vertex *list = c->channel->vertices;
	const struct gt_plan_vertex *vertex = &list[i];
	uint32_t joins = c->children[i] + (i != 0), own;

	if (vertex->name)
		return joins >= 2 && c->children[i]
			       ? GT_OK
			       : gt_plan_wrong(c->plan, vertex_at(c, i), err,
					       "switch '%s' joins nothing",
					       vertex->name);
	if (!vertex->drives)
		return GT_OK;
	own = c->leaf[vertex->rank] - 1;
	if (c->children[i] == 1 && list[list[own].parent].parent == (int64_t)i)
		return GT_OK;
	return gt_plan_wrong(c->plan, vertex_at(c, i), err,
			     "rank %u does not drive one switch, which it is a "
			     "leaf of",
			     vertex->rank);
}

static int check_leaves(const struct check *c, struct gt_err *err)
{
	for (uint32_t rank = 0; rank < c->plan->nranks; rank++) {
		if (!c->leaf[rank])
			return gt_plan_wrong(
				c->plan,
				gt_plan_at("channels[%u].vertices", c->index),
				err, "rank %u is no leaf", rank);
		if (c->leaf[rank] == 1)
			return gt_plan_wrong(c->plan, vertex_at(c, 0), err,
					     "the root is a leaf");
	}
	return GT_OK;
}

static int check_all(struct check *c, struct gt_err *err)
{
	uint32_t n = c->channel->nvertices;
	int rc = GT_OK;

	if (c->plan->cluster)
		return gt_plan_wrong(
			c->plan, gt_plan_at("channels[%u].shape", c->index),
			err, "'switch' is for ranks that are listed");
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = check_vertex(c, i, err);
	if (!rc)
		rc = check_leaves(c, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = check_inner(c, i, err);
	return rc;
}

int gt_check_switch_tree(const struct gt_plan *plan, uint32_t index,
			 struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_link_graph graph;
	struct check c = {.plan = plan,
			  .channel = &plan->channels[index],
			  .index = index,
			  .graph = &graph};
	int rc = arena ? gt_link_graph_init(plan, arena, &graph, err)
		       : gt_err_nomem(err);

	if (!rc) {
		c.leaf = gt_arena_array(arena, plan->nranks, sizeof(*c.leaf));
		c.driver =
			gt_arena_array(arena, plan->nranks, sizeof(*c.driver));
		c.children =
			gt_arena_array(arena, c.channel->nvertices + (size_t)1,
				       sizeof(*c.children));
		rc = c.leaf && c.driver && c.children ? check_all(&c, err)
						      : gt_err_nomem(err);
	}
	gt_arena_free(arena);
	return rc;
}

int gt_check_switch_use(const struct gt_use_check *use, uint32_t i,
			struct gt_err *err)
{
	const struct gt_plan *plan = use->plan;
	uint32_t c = use->use->channels[i];
	const struct gt_plan_channel *channel = &plan->channels[c];
	const struct gt_plan_vertex *root = &channel->vertices[0];
	enum gt_coll coll = use->use->coll;

	for (uint32_t v = 1; v < channel->nvertices; v++)
		if ((gt_coll_goes_up(coll) && !channel->vertices[v].nup) ||
		    (gt_coll_goes_down(coll) && !channel->vertices[v].ndown))
			return gt_plan_wrong(
				plan,
				gt_plan_at("channels[%u].vertices[%u]", c, v),
				err,
				"has no links in the direction that '%s' "
				"needs",
				gt_coll_name(coll));
	if (!root->name != (use->use->algo == GT_ALGO_NVLS))
		return gt_plan_wrong(
			plan, gt_plan_at("channels[%u].vertices[0]", c), err,
			"is %s, not what algo '%s' begins with",
			root->name ? "a switch" : "a rank",
			gt_algo_name(use->use->algo));
	if (coll == GT_COLL_ALLREDUCE ||
	    (!root->name &&
	     (root->rank == plan->root || gt_coll_has_blocks(coll))))
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("channels[%u].vertices[0]", c),
			     err,
			     "is not the rank that '%s' begins or ends with",
			     gt_coll_name(coll));
}

/* Add the rate to each of some links. */
static int add_links(uint32_t n, const uint32_t *links, struct gt_rat gbs,
		     struct gt_rat *loads)
{
	for (uint32_t i = 0; i < n; i++)
		if (!gt_rat_add(loads[links[i]], gbs, &loads[links[i]]))
			return 0;
	return 1;
}

int gt_check_switch_loads(const struct gt_plan_channel *channel,
			  enum gt_coll coll, struct gt_rat *loads)
{
	for (uint32_t i = 1; i < channel->nvertices; i++) {
		const struct gt_plan_vertex *vertex = &channel->vertices[i];

		if ((gt_coll_goes_up(coll) &&
		     !add_links(vertex->nup, vertex->up, channel->gbs,
				loads)) ||
		    (gt_coll_goes_down(coll) &&
		     !add_links(vertex->ndown, vertex->down, channel->gbs,
				loads)))
			return 0;
	}
	return 1;
}
