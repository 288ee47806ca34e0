/*
 * Plans with a demand, whose blocks differ, on GPUs: that they go through the
 * plan's FIFOs whatever is asked for, and arrive.  The GPUs are SIMULATED
 * (interp_world.h).
 */
#include "unit/exec/cuda/interp_world.h"

static void open_world(const char *name)
{
	open_engine(name);
	assert_int_equal(gt_cuda_sizes_choose(&world.engine, NULL), GT_OK);
	assert_int_equal(gt_cuda_demand_open(&world.engine, NULL), GT_OK);
}

static void expect_arrives(enum gt_dtype dtype, uint64_t count, uint32_t shift,
			   uint32_t times)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = dtype,
				      .count = count,
				      .shift = shift,
				      .seed = count};

	carry(&req, times);
	expect_carried(&req);
}

/* Blocks of every length, from none on, in slices and parts of many kinds. */
static void test_arrives(void **state)
{
	static const uint64_t counts[] = {0,    1,     2,     8,     9,
					  1000, 40960, 65537, 131072};

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		open_world("flow4-demand");
		world.engine.config.best = i == 1;
		world.engine.config.overlap = i == 2;
		world.engine.stages_in_host = i == 3;
		world.engine.config.workers = i == 4 ? 3 : 0;
		world.engine.config.slice_bytes = i == 5 ? 4096 : 0;
		world.engine.config.slots = i == 6;
		gt_cuda_sizes_choose(&world.engine, NULL);
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			for (int dtype = 0; dtype < GT_NDTYPES; dtype += 3)
				expect_arrives(
					(enum gt_dtype)dtype, counts[k],
					draw(&world.state, MOST_SHIFT + 1),
					1 + k % 3);
		close_world();
	}
}

/* What comes of a block is what its pair has; the rest is as it was. */
static void test_behind_is_checked(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_UINT8,
				      .count = 900};
	struct gt_engine *engine = &world.engine;
	uint64_t wrong = 0;

	(void)state;
	open_world("flow4-demand");
	expect_arrives(GT_DTYPE_UINT8, 900, 0, 1);
	req.seed = 900;
	/* Of 9 that the largest has, rank 0 has 2 for rank 3. */
	world.at[GT_CUDA_DATA][3][DATA_BYTES + 200] ^= 1;
	world.at[GT_CUDA_DATA][3][DATA_BYTES + 199] ^= 1;
	assert_int_equal(gt_cuda_check(engine, &req, &wrong, NULL), GT_OK);
	assert_int_equal(wrong, 2);
	assert_int_equal(engine->coming[0], 200);
	close_world();
}

/* Means that know no plan would move whole blocks. */
static void test_only_through_fifos(void **state)
{
	static const uint8_t protocols[] = {GT_PROTOCOL_LL, GT_PROTOCOL_LL128,
					    GT_PROTOCOL_DIRECT, GT_PROTOCOL_CE};
	struct gt_algo_choice wish = {.algo = GT_ALGO_ONE_SHOT}, choice;
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_FLOAT};
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	for (int how = 0; how < 3; how++)
		for (req.count = 1; req.count < 1 << 28; req.count *= 4) {
			world.engine.config.best = how == 1;
			world.engine.config.overlap = how == 2;
			assert_int_equal(gt_cuda_choose_algo(&world.engine,
							     &req, &choice,
							     NULL),
					 GT_OK);
			assert_int_equal(choice.protocol, GT_PROTOCOL_SIMPLE);
			assert_int_equal(choice.algo, GT_ALGO_FLOW);
			assert_int_equal(choice.detour_permille, 0);
		}
	req.choice = &wish;
	for (size_t p = 0; p < sizeof(protocols); p++) {
		gt_err_init(&err);
		wish.protocol = protocols[p];
		assert_int_equal(
			gt_cuda_choose_algo(&world.engine, &req, &choice, &err),
			GT_EINPUT);
		assert_non_null(strstr(err.text, "blocks are not all alike"));
	}
	close_world();
}

/* Where channels do not fit nothing takes their place. */
static void test_no_room(void **state)
{
	const struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
					    .dtype = GT_DTYPE_FLOAT,
					    .count = 1000};
	struct gt_algo_choice choice;
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	world.engine.processors = world.plan->nchannels - 1;
	for (int best = 0; best < 2; best++) {
		world.engine.config.best = best;
		gt_err_init(&err);
		assert_int_equal(
			gt_cuda_choose_algo(&world.engine, &req, &choice, &err),
			GT_EINPUT);
		assert_non_null(strstr(err.text, "multiprocessors at once"));
	}
	close_world();
}

/* Callers' streams may be captured, with what pairs had at that time. */
static void test_streams_refuse(void **state)
{
	struct gt_engine_config config = {0};
	struct gt_engine *engine;
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	config.plan = world.plan;
	gt_err_init(&err);
	assert_int_equal(gt_cuda_open(&config, &engine, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, "on callers' streams cannot do yet"));
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrives),
		cmocka_unit_test(test_behind_is_checked),
		cmocka_unit_test(test_only_through_fifos),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_streams_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
