/*
 * Lowering of templates: the rank finds its parent and its children in the tree
 * of every block, one block after the other.
 */
#include "plan/lower/shape.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

enum { GT_TEMPLATE_MAX_CHILDREN = 254 };

/* A rank's place in the tree of one block. */
struct gt_template_place {
	uint32_t block;
	int64_t parent; /* -1: this is the root */
	uint32_t nchildren;
	uint32_t *children;
};

/* A block's turn (plan/ir/cluster.h), and its number in the pass downwards. */
struct gt_template_turn {
	uint64_t at, number;
};

struct gt_template_lowering {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	struct gt_program *program;
	uint32_t node, local; /* the rank's */
	uint32_t max_conns;
	struct gt_template_place part;
	uint32_t *places;
	struct gt_template_turn *turns; /* of all blocks, in order */
	struct gt_operand *operands;
};

static uint32_t gt_template_rank(const struct gt_template_lowering *l,
				 uint32_t node, uint32_t local)
{
	return node * l->plan->cluster->nlocal + local;
}

/* Find the children in the rank's own node, and the parent if it is there. */
static void gt_template_local(struct gt_template_lowering *l,
			      const int32_t *parents)
{
	for (uint32_t i = 0; i < l->plan->cluster->nlocal; i++)
		if (parents[i] == (int64_t)l->local)
			l->part.children[l->part.nchildren++] =
				gt_template_rank(l, l->node, i);
	if (parents[l->local] >= 0)
		l->part.parent = gt_template_rank(l, l->node,
						  (uint32_t)parents[l->local]);
}

static void gt_template_network(struct gt_template_lowering *l,
				const struct gt_plan_template *tree,
				uint32_t origin, uint32_t place)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	uint32_t n = gt_nodes_children(cluster, place, l->places);

	for (uint32_t head = 0; head < cluster->nlocal; head++) {
		uint32_t from;

		if (tree->away[head] >= 0)
			continue;
		from = l->channel->hops[tree->net[head]].from;
		for (uint32_t i = 0; i < n && from == l->local; i++)
			l->part.children[l->part.nchildren++] =
				gt_template_rank(l,
						 gt_nodes_at(cluster, origin,
							     l->places[i]),
						 head);
		if (place && head == l->local)
			l->part.parent = gt_template_rank(
				l,
				gt_nodes_at(cluster, origin,
					    gt_nodes_parent(cluster, place)),
				from);
	}
}

static void gt_template_find(struct gt_template_lowering *l, uint32_t block)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	uint32_t origin = block / cluster->nlocal;
	uint32_t place = gt_nodes_place(cluster, origin, l->node);
	const struct gt_plan_template *tree =
		&l->channel->templates[block % cluster->nlocal];

	l->part.block = block;
	l->part.parent = -1;
	l->part.nchildren = 0;
	gt_template_local(l, place ? tree->away : tree->home);
	gt_template_network(l, tree, origin, place);
}

/*
 * The connection to or from a peer, made at first use.  The result is 0 when
 * there are too many.
 */
static int gt_template_conn(struct gt_template_lowering *l, uint32_t peer,
			    int sends, uint16_t tag, struct gt_operand *operand)
{
	struct gt_program *program = l->program;
	uint32_t i;

	for (i = 0; i < program->nconns; i++)
		if (program->conns[i].peer == peer &&
		    program->conns[i].sends == sends &&
		    program->conns[i].tag == tag)
			break;
	if (i == l->max_conns)
		return 0;
	if (i == program->nconns)
		program->conns[program->nconns++] = (struct gt_conn){
			.peer = peer, .tag = tag, .sends = (uint8_t)sends};
	*operand = gt_operand_slot((uint16_t)i);
	return 1;
}

/*
 * A step down: from the parent, or the rank's own block, to the output and all
 * children.
 */
static int gt_template_down(struct gt_template_lowering *l, int gathered)
{
	const struct gt_template_place *part = &l->part;
	struct gt_step_list list = {.nsrc = 1,
				    .ndst = part->nchildren,
				    .operands = l->operands,
				    .chunk = part->block};
	uint32_t n = 0;

	if (part->parent < 0)
		l->operands[n++] = gt_operand_chunk(
			gathered ? GT_BUF_OUTPUT : GT_BUF_INPUT, part->block);
	else if (!gt_template_conn(l, (uint32_t)part->parent, 0,
				   GT_TEMPLATE_DOWN, &l->operands[n++]))
		return 0;
	if (part->parent >= 0 || !gathered) {
		l->operands[n++] = gt_operand_chunk(GT_BUF_OUTPUT, part->block);
		list.ndst++;
	}
	for (uint32_t i = 0; i < part->nchildren; i++)
		if (!gt_template_conn(l, part->children[i], 1, GT_TEMPLATE_DOWN,
				      &l->operands[n++]))
			return 0;
	if (list.ndst)
		gt_step_add_list(l->program, &list);
	return 1;
}

/*
 * A step up: the contributions of all children and the rank's own go to the
 * parent, or at the root to the output.
 */
static int gt_template_up(struct gt_template_lowering *l)
{
	const struct gt_template_place *part = &l->part;
	struct gt_step_list list = {.nsrc = part->nchildren + 1,
				    .ndst = 1,
				    .operands = l->operands,
				    .chunk = part->block};
	uint32_t n = 0;

	for (uint32_t i = 0; i < part->nchildren; i++)
		if (!gt_template_conn(l, part->children[i], 0, GT_TEMPLATE_UP,
				      &l->operands[n++]))
			return 0;
	l->operands[n++] = gt_operand_chunk(GT_BUF_INPUT, part->block);
	if (part->parent < 0) {
		l->operands[n] = gt_operand_chunk(GT_BUF_OUTPUT, part->block);
		list.flags = GT_STEP_FINAL;
	} else if (!gt_template_conn(l, (uint32_t)part->parent, 1,
				     GT_TEMPLATE_UP, &l->operands[n])) {
		return 0;
	}
	gt_step_add_list(l->program, &list);
	return 1;
}

static int gt_template_turn_cmp(const void *a, const void *b)
{
	const struct gt_template_turn *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

/*
 * The block that the channel begins at: each of the plan's templates begins at
 * another one, so that at any time they keep different ports busy.
 */
static uint64_t gt_template_first(const struct gt_template_lowering *l)
{
	uint64_t before = 0, all = 0;

	for (uint32_t c = 0; c < l->plan->nchannels; c++) {
		const struct gt_plan_channel *channel = &l->plan->channels[c];

		if (channel->shape != GT_SHAPE_TEMPLATE)
			continue;
		before += channel < l->channel;
		all++;
	}
	return before * l->plan->nranks / all;
}

/*
 * The blocks in this rank's order.  They come in order of rank, so that who
 * sends the next one gets this one over one hop.
 */
static void gt_template_order(struct gt_template_lowering *l)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	uint64_t n = l->plan->nranks, lag = l->channel->lag;
	uint64_t first = gt_template_first(l);

	for (uint64_t i = 0; i < n; i++) {
		uint32_t block = (uint32_t)((first + i) % n);
		uint32_t origin = block / cluster->nlocal;
		uint32_t place = gt_nodes_place(cluster, origin, l->node);

		l->turns[i] = (struct gt_template_turn){i, i};
		if (lag)
			l->turns[i].at +=
				lag * gt_template_depth(cluster, l->channel,
							block % cluster->nlocal,
							place, l->local);
	}
	if (lag)
		qsort(l->turns, n, sizeof(*l->turns), gt_template_turn_cmp);
	for (uint64_t i = 0; i < n; i++)
		l->turns[i].number = (first + l->turns[i].number) % n;
}

/*
 * One pass over all blocks.  Upwards they come in the opposite order, in which
 * the next root is one hop away from this one.
 */
static int gt_template_pass(struct gt_template_lowering *l, int up,
			    int gathered)
{
	uint64_t n = l->plan->nranks;

	for (uint64_t i = 0; i < n; i++) {
		gt_template_find(l,
				 (uint32_t)l->turns[up ? n - 1 - i : i].number);
		if (!(up ? gt_template_up(l) : gt_template_down(l, gathered)))
			return 0;
	}
	return 1;
}

/*
 * Make room.  A step goes to the children in the node, and to as many nodes at
 * most as place 0 has children.
 */
static int gt_template_room(struct gt_template_lowering *t,
			    const struct gt_lowering *l, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = t->plan->cluster;
	size_t passes = l->want->use.coll == GT_COLL_ALLREDUCE ? 2 : 1;
	size_t fan, records;

	t->places = gt_arena_array(l->arena, gt_nodes_fan(cluster),
				   sizeof(*t->places));
	if (!t->places)
		return gt_err_nomem(err);
	fan = gt_nodes_children(cluster, 0, t->places);
	fan = cluster->nlocal * (fan + 1);
	if (fan > GT_TEMPLATE_MAX_CHILDREN)
		/* the plan was checked for it */
		fan = GT_TEMPLATE_MAX_CHILDREN;
	records = (fan + 2) / GT_STEP_OPERANDS + 1;
	/* Connections have 16-bit numbers. */
	t->max_conns = l->plan->nranks * 4 < UINT16_MAX ? l->plan->nranks * 4
							: UINT16_MAX;
	t->part.children =
		gt_arena_array(l->arena, fan, sizeof(*t->part.children));
	t->operands = gt_arena_array(l->arena, fan + 3, sizeof(*t->operands));
	t->turns = gt_arena_array(l->arena, l->plan->nranks, sizeof(*t->turns));
	if (!t->part.children || !t->operands || !t->turns)
		return gt_err_nomem(err);
	return gt_lower_alloc(l, passes * l->plan->nranks * records,
			      t->max_conns, err);
}

int gt_lower_template(const struct gt_lowering *l, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	struct gt_template_lowering t = {
		.plan = l->plan,
		.channel = l->channel,
		.program = l->program,
		.node = l->want->rank / cluster->nlocal,
		.local = l->want->rank % cluster->nlocal,
	};
	int up = gt_coll_goes_up(l->want->use.coll);
	int down = gt_coll_goes_down(l->want->use.coll);
	int rc = gt_template_room(&t, l, err);

	if (rc)
		return rc;
	gt_template_order(&t);
	if ((!up || gt_template_pass(&t, 1, 0)) &&
	    (!down || gt_template_pass(&t, 0, up)))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "channel %u: rank %u has more than %u connections",
			  l->channel->id, l->want->rank, t.max_conns);
}
