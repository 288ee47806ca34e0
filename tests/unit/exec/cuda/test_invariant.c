/*
 * Where sums must be in the order of ranks, the engine takes what goes between
 * GPUs that reach each other, at any size, or refuses.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"

enum { RANKS = 4, PROCESSORS = 132 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_channel channel;
	uint32_t all[1], order[RANKS], used[1];
	struct gt_plan_select row;
	uint8_t support[GT_NCOLLS];
} world;

/* Four GPUs, and a plan of one ring, which is right for every collective. */
static void open_world(void)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	for (uint32_t r = 0; r < RANKS; r++)
		world.order[r] = r;
	world.channel = (struct gt_plan_channel){.shape = GT_SHAPE_RING,
						 .order = world.order,
						 .norder = RANKS,
						 .share = GT_RAT(1, 1)};
	world.row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
					    .algo = GT_ALGO_RING,
					    .nchannels = 1,
					    .channels = world.all};
	world.plan = (struct gt_plan){.nranks = RANKS,
				      .nchannels = 1,
				      .nselect = 1,
				      .channels = &world.channel,
				      .select = &world.row};
	engine->plan = &world.plan;
	engine->row_support = world.support;
	engine->channels = world.used;
	engine->processors = PROCESSORS;
	engine->all_peers_reachable = engine->has_128b_stores = 1;
	engine->config.invariant = 1;
}

static int choose(enum gt_coll coll, uint64_t count,
		  struct gt_algo_choice *choice, struct gt_err *err)
{
	const struct gt_exec_request req = {
		.coll = coll, .dtype = GT_DTYPE_BF16, .count = count};

	gt_err_init(err);
	return gt_cuda_choose_algo(&world.engine, &req, choice, err);
}

static int through_fifos(enum gt_coll coll, uint64_t count)
{
	struct gt_algo_choice choice;
	struct gt_err err;

	if (choose(coll, count, &choice, &err))
		fail_msg("%s", err.text);
	return choice.protocol == GT_PROTOCOL_SIMPLE;
}

/* By the plan's rows, beside a program, and what is fastest. */
static void test_every_size(void **state)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_REDUCESCATTER, GT_COLL_REDUCE};
	int rings = 0;

	(void)state;
	for (int i = 0; i < 3 * 3 * 32; i++) {
		enum gt_coll coll = colls[i / 3 % 3];
		uint64_t count = UINT64_C(1) << i / 9;

		open_world();
		world.engine.config.best = i % 3 == 0;
		world.engine.config.overlap = i % 3 == 1;
		assert_false(through_fifos(coll, count));
		/* Without the promise some of them go by the ring. */
		world.engine.config.invariant = 0;
		rings += through_fifos(coll, count);
	}
	assert_true(rings > 30);
}

/* An invariant plan is taken at its word, which was proven. */
static void test_invariant_plan(void **state)
{
	(void)state;
	open_world();
	world.plan.invariant = 1;
	assert_true(through_fifos(GT_COLL_ALLREDUCE, 1000));
}

static void test_refused(void **state)
{
	struct gt_algo_choice choice, ring = {.algo = GT_ALGO_RING};
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_BF16,
				      .count = 1000,
				      .choice = &ring};
	struct gt_err err;

	(void)state;
	open_world();
	gt_err_init(&err);
	assert_int_equal(
		gt_cuda_choose_algo(&world.engine, &req, &choice, &err),
		GT_EINPUT);
	world.engine.all_peers_reachable = 0;
	assert_int_equal(choose(GT_COLL_REDUCE, 5, &choice, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, "reduce by ring is not invariant"));
	/* What is not added up goes as ever. */
	assert_true(through_fifos(GT_COLL_ALLGATHER, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_invariant_plan),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
