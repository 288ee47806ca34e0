/*
 * How many thread blocks requests are given where these are limited, and what
 * rings and trees leave out.  No GPU takes part: the choice is only asked for.
 */
#include "unit/good_plan.h"
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"

enum { PROCESSORS = 132, CHANNELS = 6, MOST_RANKS = 8 };

/* A plan of one row, and the engine as it is when it has devices. */
static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_channel channels[CHANNELS];
	uint32_t all[CHANNELS], order[MOST_RANKS], used[CHANNELS];
	struct gt_plan_select row;
	uint8_t support[GT_NCOLLS];
} world;

static void open_world(enum gt_algo algo, enum gt_shape shape)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	for (uint32_t i = 0; i < CHANNELS; i++) {
		world.all[i] = i;
		world.channels[i] =
			(struct gt_plan_channel){.id = i,
						 .shape = shape,
						 .root = i % 2,
						 .order = world.order,
						 .norder = 2,
						 .share = GT_RAT(1, CHANNELS)};
	}
	world.row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
					    .algo = algo,
					    .nchannels = CHANNELS,
					    .channels = world.all};
	world.plan = (struct gt_plan){.nranks = 2,
				      .nchannels = CHANNELS,
				      .nselect = 1,
				      .channels = world.channels,
				      .select = &world.row};
	engine->plan = &world.plan;
	engine->row_support = world.support;
	engine->channels = world.used;
	engine->processors = PROCESSORS;
	engine->all_peers_reachable = engine->has_128b_stores = 1;
}

static struct gt_algo_choice choose(enum gt_coll coll, uint64_t count)
{
	const struct gt_exec_request req = {
		.coll = coll, .dtype = GT_DTYPE_FLOAT, .count = count};
	struct gt_algo_choice choice;

	assert_int_equal(
		gt_cuda_choose_algo(&world.engine, &req, &choice, NULL), 0);
	return choice;
}

/* With fewer blocks each has more threads, up to what kernels are made for. */
static void test_packets(void **state)
{
	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	world.engine.config.best = 1;
	for (uint32_t limit = 0; limit <= 40; limit++) {
		struct gt_algo_choice choice;
		uint32_t warps;

		world.engine.config.max_blocks = limit;
		choice = choose(GT_COLL_ALLREDUCE, 32 << 10);
		assert_int_equal(choice.protocol, GT_PROTOCOL_LL128);
		assert_int_equal(choice.max_blocks, limit ? limit : PROCESSORS);
		if (limit)
			assert_in_range(choice.blocks, 1, limit);
		/* As few rounds of 137 chunks as with all warps. */
		warps = choice.blocks * choice.threads / 32;
		if (limit)
			assert_int_equal(136 / warps,
					 136 / (limit * GT_PACKET_WARPS));
		assert_in_range(choice.threads, 32, GT_PACKET_THREADS);
	}
}

/* A few blocks carry less as packets than all that fits into mailboxes. */
static void test_packets_pay(void **state)
{
	static const struct {
		uint32_t limit;
		uint64_t kib; /* of an all-gather's block */
		enum gt_protocol protocol;
	} cases[] = {
		{1, 128, GT_PROTOCOL_LL128},   {1, 132, GT_PROTOCOL_DIRECT},
		{8, 1024, GT_PROTOCOL_LL128},  {8, 1028, GT_PROTOCOL_DIRECT},
		{16, 2048, GT_PROTOCOL_LL128}, {0, 2048, GT_PROTOCOL_LL128},
	};

	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	world.engine.config.best = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world.engine.config.max_blocks = cases[i].limit;
		assert_int_equal(
			choose(GT_COLL_ALLGATHER, cases[i].kib << 8).protocol,
			cases[i].protocol);
	}
}

/* The caller, the plan's row and the GPU: the least of them holds. */
static void test_least_holds(void **state)
{
	(void)state;
	open_world(GT_ALGO_TWO_SHOT, GT_SHAPE_MESH);
	memset(world.support, 1, sizeof(world.support)); /* no FIFOs */
	world.row.protocol = GT_PROTOCOL_DIRECT;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, PROCESSORS);
	world.row.max_blocks = 20;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, 20);
	world.engine.config.max_blocks = 30;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, 20);
	world.engine.config.max_blocks = 10;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, 10);
	world.engine.config.max_blocks = 1000;
	world.row.max_blocks = 0;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, PROCESSORS);
	/* Whatever the plan's rows say. */
	world.row.max_blocks = 20;
	world.engine.config.best = 1;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 23).blocks, PROCESSORS);
}

/*
 * Beside a program that computes, what waits for others holds few blocks and
 * carries little: 2 MiB that leave a GPU, whichever way, or come to a root.
 */
static void test_beside_products(void **state)
{
	enum { KIB = 1024, M = 2048 * KIB };
	static const struct {
		enum gt_coll coll;
		/* As packets at most, of 2 and of 8 ranks: of a block. */
		uint64_t bytes[2];
	} cases[] = {{GT_COLL_ALLREDUCE, {M, M * 8 / 14}},
		     {GT_COLL_ALLGATHER, {M, M / 7}},
		     {GT_COLL_REDUCESCATTER, {M, M / 7}},
		     {GT_COLL_ALLTOALL, {M, M / 7}},
		     {GT_COLL_SENDRECV, {M, M}},
		     {GT_COLL_GATHER, {M, M}},
		     {GT_COLL_REDUCE, {M, M}}};

	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	world.engine.config.overlap = 1;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		enum gt_coll coll = cases[i / 2].coll;
		uint64_t bytes = cases[i / 2].bytes[i % 2];
		struct gt_algo_choice last, next;

		world.plan.nranks = i % 2 ? MOST_RANKS : 2;
		last = choose(coll, (bytes - 64 * KIB) / sizeof(float));
		next = choose(coll, (bytes + 64 * KIB) / sizeof(float));
		assert_int_equal(last.protocol, GT_PROTOCOL_LL128);
		assert_in_range(last.blocks, 1, 24);
		assert_false(last.waits_apart);
		assert_true(next.waits_apart);
		assert_true(next.protocol == GT_PROTOCOL_DIRECT ||
			    next.protocol == GT_PROTOCOL_CE);
	}
}

/* What a root adds up is sent to it by the other one of two processes. */
static void test_root(void **state)
{
	const uint64_t many = (16 << 20) / sizeof(float);

	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	world.engine.config.overlap = 1;
	world.plan.nranks = 2;
	assert_int_equal(choose(GT_COLL_REDUCE, many).protocol,
			 GT_PROTOCOL_DIRECT);
	world.engine.group.world = (struct gt_world *)&world;
	assert_int_equal(choose(GT_COLL_REDUCE, many).protocol, GT_PROTOCOL_CE);
	assert_int_not_equal(choose(GT_COLL_REDUCE, many / 4).protocol,
			     GT_PROTOCOL_CE);
	world.plan.nranks = 3;
	assert_int_not_equal(choose(GT_COLL_REDUCE, many).protocol,
			     GT_PROTOCOL_CE);
	world.engine.group.world = NULL;
}

/* Detours have kernels beside the others. */
static void test_no_detour(void **state)
{
	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	world.engine.config.best = world.engine.has_detours = 1;
	assert_true(choose(GT_COLL_BROADCAST, 1 << 28).detour_permille);
	world.engine.config.max_blocks = 16;
	assert_false(choose(GT_COLL_BROADCAST, 1 << 28).detour_permille);
	assert_int_equal(choose(GT_COLL_BROADCAST, 1 << 28).blocks, 16);
}

static void expect_row(uint32_t limit, uint32_t channels, uint32_t workers)
{
	const struct gt_engine *engine = &world.engine;
	uint32_t most;

	world.engine.config.max_blocks = limit;
	most = gt_cuda_row_blocks(engine, &world.row);
	assert_int_equal(
		gt_cuda_row_channels(engine, &world.row, world.row.coll, most),
		channels);
	assert_int_equal(!gt_cuda_row_fits(engine, &world.row, world.row.coll,
					   most, NULL),
			 channels != 0);
	if (!channels)
		return;
	assert_int_equal(
		gt_cuda_row_workers(engine, &world.row, world.row.coll, most),
		workers);
	assert_true(gt_cuda_row_workers_most(engine, &world.row) >= workers);
}

/* Workers go first, then channels. */
static void test_rings(void **state)
{
	(void)state;
	open_world(GT_ALGO_RING, GT_SHAPE_RING);
	expect_row(0, 6, 21);
	expect_row(131, 6, 21);
	expect_row(64, 6, 10);
	expect_row(12, 6, 2);
	expect_row(11, 6, 1);
	expect_row(6, 6, 1);
	expect_row(5, 5, 1);
	expect_row(1, 1, 1);
	world.row.workers = 4;
	expect_row(64, 6, 4);
	world.row.max_blocks = 2;
	expect_row(64, 2, 1);
	world.row.max_blocks = 0;
	world.engine.config.workers = 3;
	expect_row(64, 6, 3);
	expect_row(8, 2, 3);
	expect_row(2, 0, 0);
}

/* An all-reduce goes up a tree on one lane and down on another. */
static void test_trees(void **state)
{
	(void)state;
	open_world(GT_ALGO_TREE, GT_SHAPE_TREE);
	expect_row(132, 6, 10);
	expect_row(12, 6, 1);
	expect_row(11, 5, 1);
	expect_row(2, 1, 1);
	expect_row(1, 0, 0);
	world.row.coll = GT_COLL_BROADCAST;
	expect_row(1, 1, 1);
	/* Each moves the block of its root. */
	world.row.coll = GT_COLL_ALLGATHER;
	expect_row(6, 6, 1);
	expect_row(5, 0, 0);
}

static void test_cannot_leave_out(void **state)
{
	struct gt_err err;

	(void)state;
	open_world(GT_ALGO_FLOW, GT_SHAPE_FLOW);
	world.row.coll = GT_COLL_ALLTOALL;
	expect_row(12, 6, 2);
	expect_row(6, 6, 1);
	expect_row(5, 0, 0);
	gt_err_init(&err);
	assert_int_equal(gt_cuda_row_fits(&world.engine, &world.row,
					  GT_COLL_ALLTOALL, 5, &err),
			 GT_EINPUT);
	assert_string_equal(
		err.text,
		"max_blocks '5' is too few for 6 channels of 1 lanes and 1 "
		"workers, whose blocks wait for one another: allow more, or "
		"take a plan of fewer channels");
}

/*
 * Leave out channels of rows as GPUs would, or one where they would not; return
 * how often the rest of them does the whole collective.
 */
static uint32_t count_whole(const char *name, uint32_t *tried)
{
	struct gt_plan *plan = good_plan(name);
	struct gt_engine engine = {.plan = plan, .processors = PROCESSORS};
	uint32_t whole = 0;

	for (uint32_t i = 0; i < plan->nselect; i++) {
		struct gt_plan_select *row = &plan->select[i];
		uint32_t all = row->nchannels;

		for (uint32_t most = 1; most < 2 * all; most++) {
			uint32_t n = gt_cuda_row_channels(&engine, row,
							  row->coll, most);

			if (n == all)
				continue;
			row->nchannels = n ? n : all - 1;
			whole += !gt_simulate(plan, row->coll, NULL);
			row->nchannels = all;
			++*tried;
		}
	}
	gt_plan_free(plan);
	return whole;
}

static void test_rest_is_whole(void **state)
{
	static const char *const can[] = {
		"cluster2x3-ring-broadcast", "ring4-equal",
		"cluster3x3-ring-scatter",   "ring8-two",
		"cluster3x3-tree-allreduce", "ring8-three",
		"cluster4x2-ring-uplinks",   "tree5-allreduce",
		"cluster4x2-sets-broadcast", "tree6-broadcast",
		"cluster4x2-tree-broadcast", "tree6-reduce",
		"cluster4x2-tree-reduce",    "tree3-reduce-prices"};
	static const char *const cannot[] = {
		"chain4-gather", "tree8-star-gather", "tree8-star-scatter"};

	(void)state;
	for (size_t i = 0; i < sizeof(can) / sizeof(*can); i++) {
		uint32_t tried = 0, whole = count_whole(can[i], &tried);

		assert_int_equal(whole, tried);
		assert_true(tried);
	}
	for (size_t i = 0; i < sizeof(cannot) / sizeof(*cannot); i++) {
		uint32_t tried = 0;

		assert_int_equal(count_whole(cannot[i], &tried), 0);
		assert_true(tried);
	}
}

/* Where all GPUs reach each other another means takes over. */
static void test_falls_back(void **state)
{
	(void)state;
	open_world(GT_ALGO_TREE, GT_SHAPE_TREE);
	memset(world.support, 1, sizeof(world.support)); /* no FIFOs */
	world.engine.config.max_blocks = 1;
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).protocol,
			 GT_PROTOCOL_DIRECT);
	assert_int_equal(choose(GT_COLL_ALLREDUCE, 1 << 24).blocks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_packets_pay),
		cmocka_unit_test(test_least_holds),
		cmocka_unit_test(test_beside_products),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_no_detour),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_cannot_leave_out),
		cmocka_unit_test(test_rest_is_whole),
		cmocka_unit_test(test_falls_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
