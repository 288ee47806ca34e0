/*
 * How requests go where GPUs do not reach each other.  No GPU takes part: the
 * choice is only asked for.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/p2p.h"
#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"

enum { PROCESSORS = 132 };

/* FIFOs are known to serve rings, or known not to. */
enum { NO_FIFOS = 1, FIFOS = 2 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_channel channel;
	struct gt_plan_select row;
	uint32_t all[1], order[GT_P2P_RANKS], used[1];
	uint8_t support[GT_NCOLLS];
} world;

static void open_world(uint32_t n, uint8_t fifos)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	for (uint32_t r = 0; r < n; r++)
		world.order[r] = r;
	memset(world.support, fifos, sizeof(world.support));
	world.channel = (struct gt_plan_channel){.shape = GT_SHAPE_RING,
						 .order = world.order,
						 .norder = n,
						 .share = GT_RAT(1, 1)};
	world.row = (struct gt_plan_select){
		.max_bytes = UINT64_MAX, .nchannels = 1, .channels = world.all};
	world.plan = (struct gt_plan){.nranks = n,
				      .nchannels = 1,
				      .nselect = 1,
				      .channels = &world.channel,
				      .select = &world.row};
	engine->plan = &world.plan;
	engine->row_support = world.support;
	engine->channels = world.used;
	engine->processors = PROCESSORS;
	engine->all_peers_reachable = engine->stages_in_host = 1;
}

static int choose(enum gt_coll coll, uint64_t count,
		  const struct gt_algo_choice *wish,
		  struct gt_algo_choice *choice)
{
	const struct gt_exec_request req = {.coll = coll,
					    .dtype = GT_DTYPE_FLOAT,
					    .count = count,
					    .choice = wish};

	return gt_cuda_choose_algo(&world.engine, &req, choice, NULL);
}

/* It needs nothing that there is not. */
static void expect_possible(enum gt_coll coll, uint64_t count)
{
	struct gt_algo_choice choice;
	uint32_t most = world.engine.config.max_blocks;

	assert_int_equal(choose(coll, count, NULL, &choice), 0);
	assert_true(choice.protocol == GT_PROTOCOL_SIMPLE ||
		    choice.protocol == GT_PROTOCOL_LL ||
		    choice.protocol == GT_PROTOCOL_CE);
	assert_int_equal(choice.detour_permille, 0);
	if (choice.protocol == GT_PROTOCOL_SIMPLE)
		return;
	assert_true(choice.blocks);
	if (most)
		assert_in_range(choice.blocks, 1, most);
	/* Both lanes may add up at a time. */
	if (most && choice.protocol == GT_PROTOCOL_CE && gt_coll_reduces(coll))
		assert_in_range(2 * choice.blocks, 2, most);
}

/* Nothing is refused, whoever chooses, whatever there is no room for. */
static void test_everything_goes(void **state)
{
	static const uint32_t limits[] = {0, 1, 2, 7, 1000};

	(void)state;
	for (uint32_t i = 0; i < 3 * 2 * 5 * 2; i++) {
		open_world(2 + i % 3 * 7, i % 2 ? FIFOS : NO_FIFOS);
		world.engine.config.best = i / 6 % 2;
		world.engine.config.overlap = i / 12 % 2 && !(i / 6 % 2);
		world.engine.config.max_blocks = limits[i / 6 % 5];
		world.engine.sharers = i / 30 ? 7 : 0;
		for (uint32_t coll = 0; coll < GT_NCOLLS; coll++) {
			world.row.coll = (enum gt_coll)coll;
			for (uint64_t count = 1; count < 1ull << 34; count *= 3)
				expect_possible((enum gt_coll)coll, count);
		}
	}
}

/* What needs the other's memory, or whole stores of 128 bytes, is refused. */
static void test_refused(void **state)
{
	struct gt_algo_choice choice;

	(void)state;
	open_world(4, FIFOS);
	for (uint32_t coll = 0; coll < GT_NCOLLS; coll++)
		for (uint32_t p = 0; p < GT_NPROTOCOLS; p++) {
			int two = coll == GT_COLL_ALLREDUCE;
			struct gt_algo_choice wish = {
				.algo = two ? GT_ALGO_TWO_SHOT
					    : GT_ALGO_ONE_SHOT,
				.protocol = (uint8_t)p};
			int can = p == GT_PROTOCOL_LL || p == GT_PROTOCOL_CE;

			if (p == GT_PROTOCOL_SIMPLE)
				continue;
			assert_int_equal(choose((enum gt_coll)coll, 1 << 10,
						&wish, &choice),
					 can ? GT_OK : GT_EINPUT);
			wish.detour_permille = 100;
			assert_int_equal(choose((enum gt_coll)coll, 1 << 26,
						&wish, &choice),
					 GT_EINPUT);
		}
}

/* From small to large: packets, then rings of what all get or give, then copy
 * engines. */
static void test_order(void **state)
{
	(void)state;
	for (uint32_t coll = 0; coll < GT_NCOLLS; coll++) {
		uint32_t last = 0;

		open_world(2, FIFOS);
		world.engine.config.best = 1;
		for (uint64_t count = 1; count < 1ull << 30; count *= 2) {
			struct gt_algo_choice choice;
			uint32_t place;

			assert_int_equal(choose((enum gt_coll)coll, count, NULL,
						&choice),
					 0);
			place = choice.protocol == GT_PROTOCOL_LL       ? 1
				: choice.protocol == GT_PROTOCOL_SIMPLE ? 2
									: 3;
			assert_true(place >= last);
			assert_true(place != 2 ||
				    gt_coll_reduces((enum gt_coll)coll) ||
				    coll == GT_COLL_ALLGATHER ||
				    coll == GT_COLL_BROADCAST);
			last = place;
		}
		assert_int_equal(last, 3);
	}
}

/* Rows of a plan are run as they are if they can be. */
static void test_rows(void **state)
{
	static const struct {
		enum gt_coll coll;
		enum gt_algo algo;
		enum gt_protocol protocol;
		uint64_t count;
		enum gt_algo takes;
		enum gt_protocol by;
	} cases[] = {
		{GT_COLL_ALLREDUCE, GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL, 1 << 10,
		 GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL},
		{GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL, 1 << 10,
		 GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL},
		{GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL128,
		 1 << 10, GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL},
		{GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_PROTOCOL_DIRECT,
		 1 << 24, GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE},
		{GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE, 1 << 24,
		 GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE},
		{GT_COLL_ALLREDUCE, GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL, 1 << 24,
		 GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE},
		{GT_COLL_ALLTOALL, GT_ALGO_FLOW, GT_PROTOCOL_SIMPLE, 1 << 10,
		 GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL},
		{GT_COLL_ALLTOALL, GT_ALGO_FLOW, GT_PROTOCOL_SIMPLE, 1 << 24,
		 GT_ALGO_ONE_SHOT, GT_PROTOCOL_CE},
		{GT_COLL_REDUCE, GT_ALGO_ONE_SHOT, GT_PROTOCOL_DIRECT, 1 << 24,
		 GT_ALGO_ONE_SHOT, GT_PROTOCOL_CE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gt_algo_choice choice;

		open_world(4, NO_FIFOS);
		world.row.coll = cases[i].coll;
		world.row.algo = cases[i].algo;
		world.row.protocol = cases[i].protocol;
		assert_int_equal(
			choose(cases[i].coll, cases[i].count, NULL, &choice),
			0);
		assert_int_equal(choice.algo, cases[i].takes);
		assert_int_equal(choice.protocol, cases[i].by);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_goes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
