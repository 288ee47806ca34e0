/*
 * The channels of a cluster's plan: templates, trees of node trees, rings
 * through all nodes, and the channels of an all-to-all (plan/ir/cluster.h says
 * what each of these means).  Hops are between a node's ranks, and between
 * those of two nodes where they cross the network.
 */
#include "search/cluster/emit_parts.h"

#include <string.h>

#include "base/err.h"
#include "plan/check/cluster.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/block_templates.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/double_tree.h"
#include "search/cluster/quotient.h"
#include "search/cluster/ring.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* An all-to-all has many FIFOs, so its slices are small. */
enum { GT_CLUSTER_ALLTOALL_SLICE_BYTES = 131072 };

/*
 * Blocks that a rank may be behind those who send to it: about what the network
 * takes for a hop, over what a worker takes for a slice.
 */
enum { GT_CLUSTER_LAG = 4 };

/* Slices that may be looked at to check it. */
#define GT_CLUSTER_LAG_WORK UINT64_C(8000000)

/* ---- hops -------------------------------------------------------------- */

/* A hop with its route, which crosses the network unless `net` is NULL. */
static struct gt_plan_hop make_hop(struct gt_cluster_emitter *e, uint32_t from,
				   uint32_t to,
				   const struct gt_network_hop *net)
{
	const struct gt_quotient *q = e->solution->quotient;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;

	if (!net)
		return gt_plan_builder_hop(&e->b, from, to,
					   &q->fabric->routes[from * n + to],
					   NULL);
	return gt_plan_builder_hop(&e->b, from, to,
				   &q->out[from * nports + net->out],
				   &q->in[to * nports + net->in]);
}

static void append_hop(struct gt_cluster_emitter *e,
		       struct gt_plan_channel *channel, uint32_t from,
		       uint32_t to, const struct gt_network_hop *net)
{
	channel->hops[channel->nhops++] = make_hop(e, from, to, net);
}

/* The number of the channel's hop, which is added if it is not there yet. */
static uint32_t find_hop(struct gt_cluster_emitter *e,
			 struct gt_plan_channel *channel, uint32_t from,
			 uint32_t to, const struct gt_network_hop *net)
{
	struct gt_plan_hop hop = make_hop(e, from, to, net);
	uint32_t i;

	if (e->b.failed)
		return 0;
	for (i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *old = &channel->hops[i];

		if (old->from == from && old->to == to &&
		    old->network == hop.network && old->nroute == hop.nroute &&
		    !memcmp(old->route, hop.route,
			    hop.nroute * sizeof(*hop.route)))
			return i;
	}
	channel->hops[channel->nhops++] = hop;
	return i;
}

/* ---- templates --------------------------------------------------------- */

static void emit_template(struct gt_cluster_emitter *e,
			  const struct gt_block_template *template,
			  uint32_t root, struct gt_plan_channel *channel)
{
	const struct gt_block_tree *trees =
		e->solution->templates->trees->trees;
	const struct gt_block_tree *home = &trees[template->home[root]];
	const struct gt_block_tree *away = &trees[template->away[root]];
	struct gt_plan_template *out = &channel->templates[root];
	uint32_t n = e->solution->quotient->fabric->nranks;

	out->root = root;
	out->home = gt_plan_builder_copy(&e->b, home->parent, n,
					 sizeof(*out->home));
	out->away = gt_plan_builder_copy(&e->b, away->parent, n,
					 sizeof(*out->away));
	out->net = gt_plan_builder_array(&e->b, n, sizeof(*out->net));
	for (uint32_t i = 0; i < n && !e->b.failed; i++) {
		if (home->parent[i] >= 0)
			find_hop(e, channel, (uint32_t)home->parent[i], i,
				 NULL);
		if (away->parent[i] >= 0)
			find_hop(e, channel, (uint32_t)away->parent[i], i,
				 NULL);
		else
			out->net[i] = find_hop(e, channel, away->net[i].from, i,
					       &away->net[i]);
	}
}

/* One of the channels that a template is divided into. */
static void emit_template_part(struct gt_cluster_emitter *e,
			       const struct gt_block_template *template)
{
	struct gt_plan_channel *channel =
		gt_plan_builder_channel(&e->b, GT_SHAPE_TEMPLATE);
	uint32_t n = e->solution->quotient->fabric->nranks;

	channel->hops = gt_plan_builder_array(&e->b, 3 * (size_t)n * n,
					      sizeof(*channel->hops));
	channel->templates =
		gt_plan_builder_array(&e->b, n, sizeof(*channel->templates));
	if (!gt_rat_make(template->weight, e->solution->templates->denominator,
			 &channel->share) ||
	    !gt_rat_div(channel->share, GT_RAT(template->parts, 1),
			&channel->share) ||
	    !gt_rat_mul(channel->share, e->value, &channel->gbs))
		e->b.failed = 1;
	for (uint32_t i = 0; i < n && !e->b.failed; i++)
		emit_template(e, template, i, channel);
}

void gt_cluster_emit_templates(struct gt_cluster_emitter *e)
{
	const struct gt_block_templates *templates = e->solution->templates;
	uint32_t n = 0;

	for (uint32_t t = 0; t < templates->n; t++)
		n += templates->list[t].parts;
	gt_plan_builder_channels(&e->b, n);
	for (uint32_t t = 0; t < templates->n; t++)
		for (uint32_t k = 0;
		     k < templates->list[t].parts && !e->b.failed; k++)
			emit_template_part(e, &templates->list[t]);
}

/*
 * The most that ranks may lag so that slots suffice: with that their ways are
 * hidden best.  Where to check it takes too long they do not lag at all.
 */
void gt_cluster_emit_lag(struct gt_cluster_emitter *e)
{
	const struct gt_block_templates *templates = e->solution->templates;
	struct gt_plan *plan = e->b.plan;
	struct gt_err why;
	int rc;

	if ((uint64_t)plan->nranks * plan->cluster->nlocal * templates->n >
	    GT_CLUSTER_LAG_WORK)
		return;
	for (uint32_t c = 0; c < plan->nchannels && !e->b.failed; c++) {
		plan->channels[c].lag = GT_CLUSTER_LAG + 1;
		do {
			plan->channels[c].lag--;
			gt_err_init(&why);
			rc = gt_check_template_order(plan, c, &why);
		} while (rc == GT_ENO);
		e->b.failed |= rc < 0;
	}
}

/* ---- double trees ------------------------------------------------------ */

/* Hops are in order of the child, down and up; the network's is the last. */
static void emit_tree_hops(struct gt_cluster_emitter *e,
			   const struct gt_double_tree *tree,
			   struct gt_plan_channel *out)
{
	uint32_t n = e->solution->quotient->fabric->nranks;
	const struct gt_network_hop net = {tree->root, tree->port, tree->port};

	for (uint32_t i = 0; i < n && !e->b.failed; i++) {
		uint32_t parent = tree->parent[i];

		out->parent[i] = i == tree->root ? -1 : (int32_t)parent;
		if (i == tree->root)
			continue;
		append_hop(e, out, parent, i, NULL);
		append_hop(e, out, i, parent, NULL);
	}
	append_hop(e, out, tree->root, tree->root, &net);
}

/* Each tree of a node is there twice: once for either tree of the nodes. */
void gt_cluster_emit_double_trees(struct gt_cluster_emitter *e)
{
	const struct gt_double_trees *trees = e->solution->double_trees;
	uint32_t n = e->solution->quotient->fabric->nranks;

	gt_plan_builder_channels(&e->b, 2 * (size_t)trees->ntrees);
	for (uint32_t i = 0; i < 2 * trees->ntrees && !e->b.failed; i++) {
		const struct gt_double_tree *tree = &trees->trees[i / 2];
		struct gt_plan_channel *out =
			gt_plan_builder_channel(&e->b, GT_SHAPE_TREE);

		out->root = tree->root;
		out->second = (int)(i % 2);
		out->parent =
			gt_plan_builder_array(&e->b, n, sizeof(*out->parent));
		out->hops = gt_plan_builder_array(&e->b, 2 * (size_t)n,
						  sizeof(*out->hops));
		if (!gt_rat_div(tree->share, GT_RAT(2, 1), &out->share) ||
		    !gt_rat_mul(out->share, e->value, &out->gbs))
			e->b.failed = 1;
		if (!e->b.failed)
			emit_tree_hops(e, tree, out);
	}
}

/* ---- rings ------------------------------------------------------------- */

/* The port that a proposed ring leaves by, or (in) enters by. */
static uint32_t ring_port(const struct gt_cluster_emitter *e,
			  const uint32_t *order, int in)
{
	const struct gt_quotient *q = e->solution->quotient;
	uint32_t n = q->fabric->nranks;

	return order[n + (uint32_t)in] - n - (in ? q->cluster.nports : 0);
}

/*
 * Hops are in the order of plan/ir/cluster.h.  Where a ring alternates, nodes
 * of odd number have hops of their own, which go back.
 */
static void emit_ring_hops(struct gt_cluster_emitter *e, const uint32_t *order,
			   struct gt_plan_channel *channel)
{
	uint32_t n = channel->norder;
	uint32_t out = ring_port(e, order, 0), in = ring_port(e, order, 1);
	int alternate = e->solution->ring_fabric->alternate;
	struct gt_network_hop net = {order[n - 1], out, alternate ? out : in};

	for (uint32_t k = 0; k + 1 < n && !e->b.failed; k++)
		append_hop(e, channel, order[k], order[k + 1], NULL);
	append_hop(e, channel, net.from, alternate ? net.from : order[0], &net);
	if (!alternate)
		return;
	for (uint32_t k = n - 1; k && !e->b.failed; k--)
		append_hop(e, channel, order[k], order[k - 1], NULL);
	net = (struct gt_network_hop){order[0], in, in};
	append_hop(e, channel, order[0], order[0], &net);
}

void gt_cluster_emit_rings(struct gt_cluster_emitter *e)
{
	const struct gt_proposal *rings = e->solution->rings;
	uint32_t n = e->solution->quotient->fabric->nranks;

	gt_plan_builder_channels(&e->b, rings->nchannels);
	for (uint32_t i = 0; i < rings->nchannels && !e->b.failed; i++) {
		const struct gt_proposal_channel *in = &rings->channels[i];
		struct gt_plan_channel *out =
			gt_plan_builder_channel(&e->b, GT_SHAPE_RING);

		out->gbs = in->gbs;
		out->share = GT_RAT(1, 1);
		if (rings->nchannels > 1)
			gt_rat_div(in->gbs, rings->value, &out->share);
		out->norder = n;
		out->order = gt_plan_builder_copy(&e->b, in->order, n,
						  sizeof(*out->order));
		out->hops = gt_plan_builder_array(&e->b, 2 * (size_t)n,
						  sizeof(*out->hops));
		if (!e->b.failed)
			emit_ring_hops(e, in->order, out);
	}
}

/* ---- all-to-all -------------------------------------------------------- */

static void emit_path(struct gt_cluster_emitter *e,
		      const struct gt_alltoall_path *in,
		      struct gt_plan_channel *channel)
{
	struct gt_plan_path *out = &channel->paths[channel->npaths++];

	out->class_ = in->class_;
	out->hops =
		gt_plan_builder_array(&e->b, in->nranks, sizeof(*out->hops));
	for (uint32_t k = 0; k + 1 < in->nranks && !e->b.failed; k++) {
		struct gt_network_hop net = {in->ranks[k], in->out, in->in};
		int crosses = in->class_ && k + 1 == in->nout;

		out->hops[out->nhops++] =
			find_hop(e, channel, in->ranks[k], in->ranks[k + 1],
				 crosses ? &net : NULL);
	}
}

static void emit_alltoall_channel(struct gt_cluster_emitter *e,
				  const struct gt_alltoall_channel *in)
{
	const struct gt_alltoall *a2a = e->solution->a2a;
	uint32_t n = e->solution->quotient->fabric->nranks;
	uint32_t npairs = a2a->nclasses * n * n, nhops = 0;
	struct gt_plan_channel *out =
		gt_plan_builder_channel(&e->b, GT_SHAPE_FLOW);

	for (uint32_t p = 0; p < npairs; p++)
		nhops += in->paths[p] ? in->paths[p]->nranks : 0;
	out->hops = gt_plan_builder_array(&e->b, nhops, sizeof(*out->hops));
	out->paths = gt_plan_builder_array(&e->b, npairs, sizeof(*out->paths));
	if (!gt_rat_make(in->weight, a2a->denominator, &out->share) ||
	    !gt_rat_mul(out->share, e->value, &out->gbs))
		e->b.failed = 1;
	for (uint32_t p = 0; p < npairs && !e->b.failed; p++)
		if (in->paths[p])
			emit_path(e, in->paths[p], out);
}

void gt_cluster_emit_alltoall(struct gt_cluster_emitter *e)
{
	const struct gt_alltoall *a2a = e->solution->a2a;

	e->b.plan->fifo_slice_bytes = GT_CLUSTER_ALLTOALL_SLICE_BYTES;
	gt_plan_builder_channels(&e->b, a2a->nchannels);
	for (uint32_t i = 0; i < a2a->nchannels && !e->b.failed; i++)
		emit_alltoall_channel(e, &a2a->channels[i]);
}
