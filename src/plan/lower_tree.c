#include "plan/lower_tree.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/layout.h"
#include "plan/plan.h"
#include "plan/step.h"

enum { GT_TREE_MAX_CHILDREN = 254 };

/* A rank's place in a tree: its parent and its children. */
struct gt_tree {
	uint32_t root;
	int64_t parent; /* -1: this is the root */
	uint32_t nchildren;
	uint32_t *children;
};

/* A chain is a tree; a reduce-scatter's ends at its root. */
static void gt_tree_from_chain(const struct gt_plan_channel *channel,
			       enum gt_coll coll, uint32_t rank,
			       struct gt_tree *tree)
{
	int64_t n = channel->norder, at = 0, up, down;

	while (channel->order[at] != rank)
		at++;
	up = coll == GT_COLL_ALLGATHER ? at - 1 : at + 1;
	down = coll == GT_COLL_ALLGATHER ? at + 1 : at - 1;
	if (up >= 0 && up < n)
		tree->parent = channel->order[up];
	if (down >= 0 && down < n)
		tree->children[tree->nchildren++] = channel->order[down];
}

static int gt_tree_find(const struct gt_plan *plan, enum gt_coll coll,
			const struct gt_program *program,
			struct gt_arena *arena, struct gt_tree *tree)
{
	const struct gt_plan_channel *channel =
		&plan->channels[program->channel];

	*tree = (struct gt_tree){.parent = -1};
	gt_layout_root(channel, coll, &tree->root);
	tree->children =
		gt_arena_array(arena, plan->nranks, sizeof(*tree->children));
	if (!tree->children)
		return 0;
	if (channel->shape == GT_SHAPE_CHAIN) {
		gt_tree_from_chain(channel, coll, program->rank, tree);
		return 1;
	}
	tree->parent = channel->parent[program->rank];
	for (uint32_t r = 0; r < plan->nranks; r++)
		if (channel->parent[r] == (int64_t)program->rank)
			tree->children[tree->nchildren++] = r;
	return 1;
}

/* Connection i to or from child i, then the parent's, if there is one. */
static void gt_tree_connect(const struct gt_tree *tree, int down,
			    struct gt_program *program)
{
	for (uint32_t i = 0; i < tree->nchildren; i++)
		program->conns[program->nconns++] = (struct gt_conn){
			.peer = tree->children[i], .sends = (uint8_t)down};
	if (tree->parent >= 0)
		program->conns[program->nconns++] =
			(struct gt_conn){.peer = (uint32_t)tree->parent,
					 .sends = (uint8_t)!down};
}

/* From the parent, or the own block, to the output and all children. */
static void gt_tree_down(const struct gt_tree *tree, struct gt_program *program,
			 struct gt_operand *operands)
{
	struct gt_step_list list = {.nsrc = 1,
				    .ndst = 1 + tree->nchildren,
				    .operands = operands,
				    .chunk = tree->root};

	operands[0] = tree->parent < 0
			      ? gt_operand_user(GT_BUF_INPUT, tree->root)
			      : gt_operand_slot((uint16_t)tree->nchildren);
	operands[1] = gt_operand_user(GT_BUF_OUTPUT, tree->root);
	for (uint32_t i = 0; i < tree->nchildren; i++)
		operands[2 + i] = gt_operand_slot((uint16_t)i);
	gt_step_add_list(program, &list);
}

/* All children's and the own contribution to the parent, or the output. */
static void gt_tree_up(const struct gt_tree *tree, struct gt_program *program,
		       struct gt_operand *operands)
{
	uint32_t n = tree->nchildren;
	struct gt_step_list list = {.nsrc = n + 1,
				    .ndst = 1,
				    .operands = operands,
				    .chunk = tree->root};

	for (uint32_t i = 0; i < n; i++)
		operands[i] = gt_operand_slot((uint16_t)i);
	operands[n] = gt_operand_user(GT_BUF_INPUT, tree->root);
	operands[n + 1] = gt_operand_slot((uint16_t)n);
	if (tree->parent < 0) {
		operands[n + 1] = gt_operand_user(GT_BUF_OUTPUT, tree->root);
		list.flags = GT_STEP_FINAL;
	}
	gt_step_add_list(program, &list);
}

int gt_lower_tree(const struct gt_plan *plan, enum gt_coll coll,
		  struct gt_arena *arena, struct gt_program *program,
		  struct gt_err *err)
{
	const uint32_t id = plan->channels[program->channel].id;
	struct gt_operand *operands;
	struct gt_tree tree;
	size_t n;

	if (!gt_tree_find(plan, coll, program, arena, &tree))
		return gt_err_nomem(err);
	if (tree.nchildren > GT_TREE_MAX_CHILDREN)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: rank %u has more than %d "
				  "children",
				  id, program->rank, GT_TREE_MAX_CHILDREN);
	n = tree.nchildren + 2;
	operands = gt_arena_array(arena, n, sizeof(*operands));
	program->steps = gt_arena_array(arena, n, sizeof(*program->steps));
	program->conns = gt_arena_array(arena, n, sizeof(*program->conns));
	if (!operands || !program->steps || !program->conns)
		return gt_err_nomem(err);
	program->nchunks = plan->nranks;
	gt_tree_connect(&tree, coll == GT_COLL_ALLGATHER, program);
	if (coll == GT_COLL_ALLGATHER)
		gt_tree_down(&tree, program, operands);
	else
		gt_tree_up(&tree, program, operands);
	return GT_OK;
}
