/* Ring plans made in memory. */
#ifndef GT_TESTS_UNIT_RING_PLAN_H
#define GT_TESTS_UNIT_RING_PLAN_H

#include "draw.h"
#include "unit/test.h"

#include "base/arena.h"
#include "plan/ir/plan.h"

/* A channel's ring: a random order of the ranks. */
static inline void test_ring_shuffle(uint32_t *order, uint32_t n,
				     uint64_t *state)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = draw(state, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

/* One row of all channels. */
static inline void test_ring_select(struct gt_plan *plan)
{
	struct gt_plan_select *row =
		gt_arena_array(plan->arena, 1, sizeof(*row));

	*row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
				       .nchannels = plan->nchannels,
				       .workers = 1};
	row->channels = gt_arena_array(plan->arena, plan->nchannels,
				       sizeof(*row->channels));
	for (uint32_t c = 0; c < plan->nchannels; c++)
		row->channels[c] = c;
	plan->select = row;
	plan->nselect = 1;
}

/* nchannels random rings of n ranks with random shares that sum to 1. */
static inline struct gt_plan *test_ring_plan(uint32_t n, uint32_t nchannels,
					     uint64_t *state)
{
	struct gt_plan *plan = gt_plan_new();
	uint32_t weight[64], sum = 0;

	assert_non_null(plan);
	assert_true(nchannels <= 64);
	plan->nranks = n;
	plan->nchannels = nchannels;
	plan->fifo_slots = 4;
	plan->fifo_slice_bytes = 128 << 10;
	plan->ranks = gt_arena_array(plan->arena, n, sizeof(*plan->ranks));
	plan->channels =
		gt_arena_array(plan->arena, nchannels, sizeof(*plan->channels));
	for (uint32_t r = 0; r < n; r++) {
		plan->ranks[r].node = "n0";
		plan->ranks[r].device = gt_arena_printf(
			plan->arena, "0000:%02x:00.0", 0x18 + r);
	}
	for (uint32_t c = 0; c < nchannels; c++)
		sum += weight[c] = 1 + draw(state, 9);
	for (uint32_t c = 0; c < nchannels; c++) {
		struct gt_plan_channel *channel = &plan->channels[c];

		channel->id = c;
		assert_true(gt_rat_make(weight[c], sum, &channel->share));
		channel->norder = n;
		channel->order =
			gt_arena_array(plan->arena, n, sizeof(*channel->order));
		test_ring_shuffle(channel->order, n, state);
	}
	test_ring_select(plan);
	return plan;
}

/* Random trees, all with the root of the plan; their hops are not needed. */
static inline void test_tree_shape(struct gt_plan *plan, uint64_t *state)
{
	for (uint32_t c = 0; c < plan->nchannels; c++) {
		struct gt_plan_channel *channel = &plan->channels[c];
		uint32_t *order = channel->order, n = plan->nranks;

		channel->shape = GT_SHAPE_TREE;
		channel->root = plan->root;
		channel->parent = gt_arena_array(plan->arena, n,
						 sizeof(*channel->parent));
		for (uint32_t i = 0; i < n; i++)
			if (order[i] == plan->root) {
				order[i] = order[0];
				order[0] = plan->root;
			}
		channel->parent[plan->root] = -1;
		for (uint32_t i = 1; i < n; i++)
			channel->parent[order[i]] =
				(int32_t)order[draw(state, i)];
	}
}

/* A plan of that algorithm for one collective, from a random root. */
/* On each channel some pairs go through the ranks behind them. */
static inline void test_flow_shape(struct gt_plan *plan, uint64_t *state)
{
	uint32_t n = plan->nranks;

	for (uint32_t c = 0; c < plan->nchannels; c++) {
		struct gt_plan_channel *channel = &plan->channels[c];

		channel->shape = GT_SHAPE_FLOW;
		channel->npaths = n < 4 ? 0 : draw(state, n + 1);
		channel->paths = gt_arena_array(plan->arena, channel->npaths,
						sizeof(*channel->paths));
		for (uint32_t i = 0; i < channel->npaths; i++) {
			struct gt_plan_path *path = &channel->paths[i];

			path->nranks = 3 + draw(state, 2);
			path->ranks = gt_arena_array(plan->arena, path->nranks,
						     sizeof(*path->ranks));
			for (uint32_t k = 0; k < path->nranks; k++)
				path->ranks[k] = channel->order[(i + k) % n];
		}
	}
}

static inline struct gt_plan *test_shape_plan(uint32_t n, enum gt_algo algo,
					      enum gt_coll coll,
					      uint64_t *state)
{
	struct gt_plan *plan = test_ring_plan(n, 1 + draw(state, 3), state);

	plan->coll = coll;
	plan->root = draw(state, n);
	plan->select->coll = coll;
	plan->select->algo = algo;
	for (uint32_t c = 0; c < plan->nchannels && algo > GT_ALGO_TREE; c++)
		plan->channels[c].shape = GT_SHAPE_MESH;
	if (algo == GT_ALGO_TREE)
		test_tree_shape(plan, state);
	if (algo == GT_ALGO_FLOW)
		test_flow_shape(plan, state);
	return plan;
}

#endif
