/*
 * The channels of a cluster's plan: templates, trees of node trees, rings
 * through all nodes, and the channels of an all-to-all (plan/ir/cluster.h says
 * what each of these means).  Hops are between a node's ranks, and between
 * those of two nodes where they cross the network.
 */
#include "search/cluster/emit_parts.h"

#include <string.h>

#include "base/arena.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/double_tree.h"
#include "search/cluster/quotient.h"
#include "search/cluster/ring.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* An all-to-all has many FIFOs, so its slices are small. */
enum { GT_CLUSTER_ALLTOALL_SLICE_BYTES = 131072 };

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

/* A tree with the part of its weight that one root's blocks take. */
struct gt_tree_piece {
	uint32_t tree;
	int64_t weight;
};

/* What is left to hand out of one root's home trees and away trees. */
struct gt_tree_pieces {
	uint32_t nhome, naway;
	struct gt_tree_piece *home, *away;
};

static void emit_template(struct gt_cluster_emitter *e,
			  const struct gt_tree_pieces *pieces, uint32_t root,
			  struct gt_plan_channel *channel)
{
	const struct gt_block_tree *trees = e->solution->block_trees->trees;
	const struct gt_block_tree *home = &trees[pieces->home->tree];
	const struct gt_block_tree *away = &trees[pieces->away->tree];
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

/* The next channel is as wide as the narrowest piece of any root; 0: none. */
static int64_t next_width(const struct gt_tree_pieces *pieces, uint32_t n)
{
	int64_t width = INT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_tree_pieces *p = &pieces[i];

		if (!p->nhome || !p->naway)
			return 0;
		if (p->home->weight < width)
			width = p->home->weight;
		if (p->away->weight < width)
			width = p->away->weight;
	}
	return width;
}

static void take_width(struct gt_tree_piece **piece, uint32_t *n, int64_t width)
{
	(*piece)->weight -= width;
	if ((*piece)->weight)
		return;
	(*piece)++;
	(*n)--;
}

static void emit_template_channel(struct gt_cluster_emitter *e,
				  struct gt_tree_pieces *pieces, int64_t width)
{
	struct gt_plan_channel *channel =
		gt_plan_builder_channel(&e->b, GT_SHAPE_TEMPLATE);
	uint32_t n = e->solution->quotient->fabric->nranks;

	channel->hops = gt_plan_builder_array(&e->b, 3 * (size_t)n * n,
					      sizeof(*channel->hops));
	channel->templates =
		gt_plan_builder_array(&e->b, n, sizeof(*channel->templates));
	if (!gt_rat_make(width, e->solution->block_trees->denominator,
			 &channel->share) ||
	    !gt_rat_mul(channel->share, e->value, &channel->gbs))
		e->b.failed = 1;
	for (uint32_t i = 0; i < n && !e->b.failed; i++) {
		emit_template(e, &pieces[i], i, channel);
		take_width(&pieces[i].home, &pieces[i].nhome, width);
		take_width(&pieces[i].away, &pieces[i].naway, width);
	}
}

/*
 * Which root's blocks use which away trees is free as long as all of both are
 * used up: first those that arrive at the root's own place, then any.  left[]
 * is what the trees have to give.
 */
static void hand_out_away(const struct gt_block_trees *trees, uint32_t n,
			  int64_t *left, struct gt_tree_pieces *pieces)
{
	for (uint32_t k = 0; k < 2 * n; k++) {
		uint32_t root = k % n;
		struct gt_tree_pieces *p = &pieces[root];
		int64_t lacks = trees->denominator;

		for (uint32_t i = 0; i < p->naway; i++)
			lacks -= p->away[i].weight;
		for (uint32_t t = 0; t < trees->ntrees && lacks; t++) {
			int64_t take = left[t] < lacks ? left[t] : lacks;

			if (!take ||
			    (k < n && trees->trees[t].parent[root] >= 0))
				continue;
			left[t] -= take;
			lacks -= take;
			p->away[p->naway++] = (struct gt_tree_piece){t, take};
		}
	}
}

/*
 * Room for every tree at home, and away for what each of two passes hands out.
 */
static struct gt_tree_pieces *new_pieces(struct gt_plan_builder *b,
					 struct gt_arena *scratch, uint32_t n,
					 uint32_t ntrees)
{
	struct gt_tree_pieces *pieces =
		gt_arena_array(scratch, n, sizeof(*pieces));

	b->failed |= !pieces;
	for (uint32_t i = 0; i < n && !b->failed; i++) {
		struct gt_tree_pieces *p = &pieces[i];

		p->home = gt_arena_array(scratch, ntrees, sizeof(*p->home));
		p->away = gt_arena_array(scratch, 2 * (size_t)ntrees,
					 sizeof(*p->away));
		b->failed |= !p->home || !p->away;
	}
	return pieces;
}

/* The trees of all roots as pieces; an away tree is there for all n roots. */
static struct gt_tree_pieces *cut_trees(struct gt_cluster_emitter *e,
					struct gt_arena *scratch)
{
	const struct gt_block_trees *trees = e->solution->block_trees;
	uint32_t n = e->solution->quotient->fabric->nranks;
	int64_t *left = gt_arena_array(scratch, trees->ntrees, sizeof(*left));
	struct gt_tree_pieces *pieces =
		new_pieces(&e->b, scratch, n, trees->ntrees);

	e->b.failed |= !left;
	for (uint32_t t = 0; t < trees->ntrees && !e->b.failed; t++) {
		const struct gt_block_tree *tree = &trees->trees[t];
		struct gt_tree_pieces *p = &pieces[tree->root % n];

		if (tree->root == n)
			left[t] = tree->weight * n;
		else if (tree->weight)
			p->home[p->nhome++] =
				(struct gt_tree_piece){t, tree->weight};
	}
	if (!e->b.failed)
		hand_out_away(trees, n, left, pieces);
	return pieces;
}

void gt_cluster_emit_templates(struct gt_cluster_emitter *e)
{
	uint32_t n = e->solution->quotient->fabric->nranks, max = 1;
	struct gt_arena *scratch = gt_arena_new();
	struct gt_tree_pieces *pieces = NULL;
	int64_t width;

	e->b.failed |= !scratch;
	if (!e->b.failed)
		pieces = cut_trees(e, scratch);
	for (uint32_t i = 0; i < n && !e->b.failed; i++)
		max += pieces[i].nhome + pieces[i].naway;
	gt_plan_builder_channels(&e->b, max);
	while (!e->b.failed && (width = next_width(pieces, n)))
		emit_template_channel(e, pieces, width);
	gt_arena_free(scratch);
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
