#include "search/cluster/emit.h"

#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/double_tree.h"
#include "search/cluster/search.h"
#include "search/cluster/block_trees.h"

/* Hops by child, down and up; the network's is the last. */
static void gt_hier_pair_hops(struct gt_cluster_emit *e,
			      const struct gt_double_tree *tree,
			      struct gt_plan_channel *out)
{
	uint32_t n = e->found->quotient->fabric->nranks;
	const struct gt_network_hop net = {tree->root, tree->port, tree->port};

	for (uint32_t i = 0; i < n && !e->failed; i++) {
		uint32_t parent = tree->parent[i];

		out->parent[i] = i == tree->root ? -1 : (int32_t)parent;
		if (i == tree->root)
			continue;
		out->hops[out->nhops++] =
			gt_cluster_emit_hop_make(e, parent, i, NULL);
		out->hops[out->nhops++] =
			gt_cluster_emit_hop_make(e, i, parent, NULL);
	}
	out->hops[out->nhops++] =
		gt_cluster_emit_hop_make(e, tree->root, tree->root, &net);
}

/* Each tree of a node twice: for the first tree of nodes and the second. */
void gt_cluster_emit_double_trees(struct gt_cluster_emit *e)
{
	const struct gt_double_trees *trees = e->found->double_trees;
	uint32_t n = e->found->quotient->fabric->nranks;
	struct gt_plan *plan = e->plan;

	plan->channels = gt_cluster_emit_array(e, 2 * (size_t)trees->ntrees,
					       sizeof(*plan->channels));
	for (uint32_t i = 0; i < 2 * trees->ntrees && !e->failed; i++) {
		const struct gt_double_tree *tree = &trees->trees[i / 2];
		struct gt_plan_channel *out = &plan->channels[i];

		out->id = plan->nchannels++;
		out->shape = GT_SHAPE_TREE;
		out->root = tree->root;
		out->second = (int)(i % 2);
		out->parent = gt_cluster_emit_array(e, n, sizeof(*out->parent));
		out->hops = gt_cluster_emit_array(e, 2 * (size_t)n,
						  sizeof(*out->hops));
		if (!gt_rat_div(tree->share, GT_RAT(2, 1), &out->share) ||
		    !gt_rat_mul(out->share, trees->value, &out->gbs))
			e->failed = 1;
		if (!e->failed)
			gt_hier_pair_hops(e, tree, out);
	}
	e->value = trees->value;
}
