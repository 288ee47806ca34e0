/*
 * Lowering of trees and chains: a rank's parent and children, and one step
 * down, up, or at an all-reduce's root up and down at once.
 */
#include "plan/lower/shape.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* A step has at most 255 sources and as many destinations. */
enum { GT_TREE_MAX_CHILDREN = 254 };

/*
 * A rank's place in a tree: its parent and its children, and the step that is
 * made of them.
 */
struct gt_tree_lowering {
	uint32_t chunk; /* the chunk that is moved */
	int64_t parent; /* -1: this is the root */
	uint32_t nchildren;
	uint32_t *children;
	struct gt_operand *operands; /* room for a step of all of them */
};

/* The place in a chain, which is a tree in which each rank has one child. */
static void gt_tree_from_chain(const struct gt_lowering *l,
			       struct gt_tree_lowering *tree)
{
	const struct gt_plan_channel *channel = l->channel;
	int to_last = gt_coll_goes_up(l->want->use.coll);
	int64_t n = channel->norder, at = 0, up, down;

	while (channel->order[at] != l->want->rank)
		at++;
	up = to_last ? at + 1 : at - 1;
	down = to_last ? at - 1 : at + 1;
	if (up >= 0 && up < n)
		tree->parent = channel->order[up];
	if (down >= 0 && down < n)
		tree->children[tree->nchildren++] = channel->order[down];
}

/* The tree within one node of a cluster. */
struct gt_tree_view {
	const struct gt_plan_channel *channel;
	uint32_t place;
	uint32_t
		top; /* the local rank that all of the root's node hangs from */
};

/*
 * A rank's parent within its node, or -1.  In the root's node, all that is
 * above the root hangs from it.
 */
static int32_t gt_tree_above(const struct gt_tree_view *view, uint32_t local)
{
	const int32_t *parent = view->channel->parent;
	int32_t below = -1;

	if (view->place)
		return parent[local];
	for (int32_t up = (int32_t)view->top; up >= 0; up = parent[up]) {
		if ((uint32_t)up == local)
			return below;
		below = up;
	}
	return parent[local];
}

/*
 * The rank that the part of the tree in a node hangs from; `place` counts nodes
 * from the root's on.
 */
static uint32_t gt_tree_head(const struct gt_lowering *l, uint32_t origin,
			     uint32_t place)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;

	return (origin + place) % cluster->nnodes * cluster->nlocal +
	       l->channel->root;
}

static void gt_tree_of_nodes(const struct gt_lowering *l,
			     struct gt_tree_lowering *tree)
{
	const struct gt_plan_channel *channel = l->channel;
	uint32_t nnodes = l->plan->cluster->nnodes;
	uint32_t n = l->plan->cluster->nlocal, rank = l->want->rank;
	uint32_t root = gt_coll_is_rooted(l->want->use.coll) ? l->want->use.root
							     : channel->root;
	uint32_t first = rank - rank % n, places[GT_DTREE_FAN], nplaces;
	struct gt_tree_view view = {
		.channel = channel,
		.place = (rank / n + nnodes - root / n) % nnodes,
		.top = root % n,
	};
	int32_t above = gt_tree_above(&view, rank % n);

	tree->parent = above < 0 ? -1 : (int64_t)first + above;
	for (uint32_t i = 0; i < n; i++)
		if (gt_tree_above(&view, i) == (int64_t)(rank % n))
			tree->children[tree->nchildren++] = first + i;
	if (rank % n != channel->root)
		return;
	if (view.place)
		tree->parent = gt_tree_head(
			l, root / n,
			gt_nodes_dtree_parent(nnodes, channel->second,
					      view.place));
	nplaces = gt_nodes_dtree_children(nnodes, channel->second, view.place,
					  places);
	for (uint32_t i = 0; i < nplaces; i++)
		tree->children[tree->nchildren++] =
			gt_tree_head(l, root / n, places[i]);
}

static void gt_tree_find(const struct gt_lowering *l,
			 struct gt_tree_lowering *tree)
{
	const struct gt_plan_channel *channel = l->channel;
	uint32_t rank = l->want->rank;

	gt_layout_only_block(channel, l->want->use.coll, &tree->chunk);
	if (channel->shape == GT_SHAPE_CHAIN) {
		gt_tree_from_chain(l, tree);
		return;
	}
	if (l->plan->cluster) {
		gt_tree_of_nodes(l, tree);
		return;
	}
	tree->parent = channel->parent[rank];
	for (uint32_t r = 0; r < l->plan->nranks; r++)
		if (channel->parent[r] == (int64_t)rank)
			tree->children[tree->nchildren++] = r;
}

static uint16_t gt_tree_connect(struct gt_program *program, uint32_t peer,
				int sends)
{
	program->conns[program->nconns] =
		(struct gt_conn){.peer = peer, .sends = (uint8_t)sends};
	return (uint16_t)program->nconns++;
}

/*
 * The step down: from the parent, or the rank's own input, to the output and
 * all children.
 */
static void gt_tree_down(const struct gt_tree_lowering *tree,
			 struct gt_program *program)
{
	struct gt_operand *operands = tree->operands;
	struct gt_step_list list = {.nsrc = 1,
				    .ndst = 1 + tree->nchildren,
				    .operands = operands,
				    .chunk = tree->chunk};

	if (tree->parent < 0)
		operands[0] = gt_operand_chunk(GT_BUF_INPUT, tree->chunk);
	else
		operands[0] = gt_operand_slot(
			gt_tree_connect(program, (uint32_t)tree->parent, 0));
	operands[1] = gt_operand_chunk(GT_BUF_OUTPUT, tree->chunk);
	for (uint32_t i = 0; i < tree->nchildren; i++)
		operands[2 + i] = gt_operand_slot(
			gt_tree_connect(program, tree->children[i], 1));
	gt_step_add_list(program, &list);
}

/*
 * The step up: the contributions of all children and the rank's own go to the
 * parent.  At the root they go to the output and, with `turn_round`, to all
 * children at once.
 */
static void gt_tree_up(const struct gt_tree_lowering *tree,
		       struct gt_program *program, int turn_round)
{
	uint32_t n = tree->nchildren;
	struct gt_operand *operands = tree->operands;
	struct gt_step_list list = {.nsrc = n + 1,
				    .ndst = 1,
				    .operands = operands,
				    .chunk = tree->chunk};

	for (uint32_t i = 0; i < n; i++)
		operands[i] = gt_operand_slot(
			gt_tree_connect(program, tree->children[i], 0));
	operands[n] = gt_operand_chunk(GT_BUF_INPUT, tree->chunk);
	if (tree->parent >= 0) {
		operands[n + 1] = gt_operand_slot(
			gt_tree_connect(program, (uint32_t)tree->parent, 1));
	} else {
		operands[n + 1] = gt_operand_chunk(GT_BUF_OUTPUT, tree->chunk);
		list.flags = GT_STEP_FINAL;
		list.ndst += turn_round ? n : 0;
		for (uint32_t i = 0; i < n && turn_round; i++)
			operands[n + 2 + i] = gt_operand_slot(
				gt_tree_connect(program, tree->children[i], 1));
	}
	gt_step_add_list(program, &list);
}

int gt_lower_tree(const struct gt_lowering *l, struct gt_err *err)
{
	enum gt_coll coll = l->want->use.coll;
	struct gt_tree_lowering tree = {.parent = -1};
	size_t n;
	int rc;

	tree.children = gt_arena_array(l->arena, l->plan->nranks,
				       sizeof(*tree.children));
	if (!tree.children)
		return gt_err_nomem(err);
	gt_tree_find(l, &tree);
	if (gt_coll_is_rooted(coll) && !l->plan->cluster &&
	    gt_layout_tree_root(l->channel, coll) != l->want->use.root)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: its root is rank %u, not %u",
				  l->channel->id,
				  gt_layout_tree_root(l->channel, coll),
				  l->want->use.root);
	if (tree.nchildren > GT_TREE_MAX_CHILDREN)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: rank %u has more than %d "
				  "children",
				  l->channel->id, l->want->rank,
				  GT_TREE_MAX_CHILDREN);
	n = 2 * (size_t)tree.nchildren + 2;
	tree.operands = gt_arena_array(l->arena, n, sizeof(*tree.operands));
	if (!tree.operands)
		return gt_err_nomem(err);
	rc = gt_lower_alloc(l, n, n, err);
	if (rc)
		return rc;
	if (!gt_coll_goes_up(coll) || (l->want->lane && tree.parent >= 0))
		gt_tree_down(&tree, l->program);
	else if (!l->want->lane)
		gt_tree_up(&tree, l->program, coll == GT_COLL_ALLREDUCE);
	return GT_OK;
}
