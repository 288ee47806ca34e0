#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const char *const gt_coll_names[GT_NCOLLS] = {
	[GT_COLL_ALLREDUCE] = "allreduce",
	[GT_COLL_ALLGATHER] = "allgather",
	[GT_COLL_REDUCESCATTER] = "reducescatter",
};

static const char *const gt_shape_names[GT_NSHAPES] = {
	[GT_SHAPE_RING] = "ring",         [GT_SHAPE_CHAIN] = "chain",
	[GT_SHAPE_TREE] = "tree",         [GT_SHAPE_MESH] = "mesh",
	[GT_SHAPE_TEMPLATE] = "template",
};

static const char *const gt_transport_names[GT_NTRANSPORTS] = {
	[GT_TRANSPORT_PEER] = "peer",
	[GT_TRANSPORT_SHM] = "shm",
	[GT_TRANSPORT_TCP] = "tcp",
	[GT_TRANSPORT_VERBS] = "verbs",
};

static const char *const gt_protocol_names[GT_NPROTOCOLS] = {
	[GT_PROTOCOL_SIMPLE] = "simple",
	[GT_PROTOCOL_LL] = "ll",
	[GT_PROTOCOL_LL128] = "ll128",
};

static const char *const gt_proof_names[GT_NPROOFS] = {
	[GT_PROOF_RING] = "ring",
	[GT_PROOF_ANY] = "any",
};

static const char *const gt_op_names[GT_NOPS] = {
#define GT_OP(NAME, name, recv, local, copy, send) [GT_OP_##NAME] = name,
#include "plan/op.def"
};

struct gt_plan *gt_plan_new(void)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_plan *plan;

	plan = arena ? gt_arena_alloc(arena, sizeof(*plan)) : NULL;
	if (!plan) {
		gt_arena_free(arena);
		return NULL;
	}
	plan->arena = arena;
	return plan;
}

void gt_plan_free(struct gt_plan *plan)
{
	if (plan)
		gt_arena_free(plan->arena);
}

static const char *gt_word(const char *const *words, unsigned n, unsigned i)
{
	return i < n ? words[i] : "?";
}

static int gt_word_find(const char *const *words, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(words[i], name))
			return i;
	return -1;
}

const char *gt_coll_name(enum gt_coll coll)
{
	return gt_word(gt_coll_names, GT_NCOLLS, coll);
}

const char *gt_shape_name(enum gt_shape shape)
{
	return gt_word(gt_shape_names, GT_NSHAPES, shape);
}

const char *gt_transport_name(enum gt_transport transport)
{
	return gt_word(gt_transport_names, GT_NTRANSPORTS, transport);
}

const char *gt_protocol_name(enum gt_protocol protocol)
{
	return gt_word(gt_protocol_names, GT_NPROTOCOLS, protocol);
}

const char *gt_proof_name(enum gt_proof_class class_)
{
	return gt_word(gt_proof_names, GT_NPROOFS, class_);
}

const char *gt_op_name(enum gt_op op)
{
	return gt_word(gt_op_names, GT_NOPS, op);
}

int gt_coll_find(const char *name)
{
	return gt_word_find(gt_coll_names, GT_NCOLLS, name);
}

int gt_shape_find(const char *name)
{
	return gt_word_find(gt_shape_names, GT_NSHAPES, name);
}

int gt_transport_find(const char *name)
{
	return gt_word_find(gt_transport_names, GT_NTRANSPORTS, name);
}

int gt_protocol_find(const char *name)
{
	return gt_word_find(gt_protocol_names, GT_NPROTOCOLS, name);
}

int gt_proof_find(const char *name)
{
	return gt_word_find(gt_proof_names, GT_NPROOFS, name);
}
