/*
 * Requests that go through the host's memory as a whole, as where GPUs do not
 * reach each other, SIMULATED: no GPU takes part.  One thread puts a rank's
 * part on its streams, or those of all ranks together; that is played in many
 * orders (detour_world.h).
 */
#include "unit/exec/cuda/p2p/detour_world.h"

/* Put staged parts of ranks, which a thread each puts, or one thread. */
static int launch_staged(uint32_t index, uint32_t first, uint32_t end)
{
	int rc;

	for (uint32_t r = first; r < end; r++)
		put_call(r, fill);
	rc = gt_cuda_staged_launch(&world.engine, &world.ops[index].req, first,
				   end);
	for (uint32_t r = first; r < end; r++)
		put_call(r, check);
	return rc;
}

/* Operations are put the one way and the other, in turn. */
static void put_op(uint32_t index)
{
	uint32_t n = world.plan.nranks;

	if (index % 2) {
		assert_int_equal(launch_staged(index, 0, n), 0);
		return;
	}
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(launch_staged(index, r, r + 1), 0);
}

static void put_all(void)
{
	while (streams.nops < OPS) {
		put_op(streams.nops);
		streams_next();
	}
}

/* All elements of all operations go through the host. */
static void stage_ops(void)
{
	for (uint32_t i = 0; i < OPS; i++) {
		world.ops[i].order = STAGED;
		world.ops[i].away = world.ops[i].req.count;
	}
}

static void play_many(uint32_t n, uint32_t plays)
{
	for (uint64_t set = 0; set < 2; set++) {
		open_world(n);
		streams.in_graph = 1; /* any order will do */
		make_ops(n * 2 + set);
		stage_ops();
		put_all();
		for (uint64_t seed = 0; seed < plays; seed++)
			play(seed);
		close_world();
	}
}

static void test_few(void **state)
{
	(void)state;
	play_many(2, 48);
	play_many(3, 36);
}

static void test_many(void **state)
{
	(void)state;
	play_many(4, 24);
	play_many(8, 12);
}

/* A step has neither too few bytes nor too many, and suits all ranks. */
static void test_chunks(void **state)
{
	struct gt_exec_request req = {.dtype = GT_DTYPE_INT32};

	(void)state;
	open_world(4);
	for (uint32_t r = 0; r < 4; r++)
		world.detours[r].chunk_bytes = 2 << 20;
	for (int i = 0; i < GT_NCOLLS * 30; i++) {
		uint64_t chunk = 0;

		req.coll = (enum gt_coll)(i / 30);
		req.count = 1ull << i % 30;
		for (uint32_t r = 0; r < 4; r++) {
			struct gt_detouring at = {.engine = &world.engine,
						  .req = &req,
						  .rank = r,
						  .is_all = 1};

			gt_detour_init(&at);
			if (!r)
				chunk = at.chunk;
			assert_int_equal(at.chunk, chunk);
			assert_int_equal(at.chunk * 4 % GT_STAGED_GRAIN_BYTES,
					 0);
			assert_in_range(at.chunk * 4,
					GT_STAGED_STEP_BYTES / 3 - 4096,
					2 << 20);
		}
	}
	close_world();
}

static void test_failure(void **state)
{
	uint32_t calls;

	(void)state;
	open_world(3);
	make_ops(1);
	stage_ops();
	assert_int_equal(launch_staged(0, 0, 1), 0);
	calls = world.calls;
	for (uint32_t most = 0; most < calls; most++) {
		streams.meetings[0] = 0;
		world.calls = 0;
		world.calls_most = most;
		assert_int_equal(launch_staged(0, 0, 1), cudaErrorUnknown);
	}
	close_world();
}

/* A graph of one operation many times has as many edges for each. */
static void expect_graph(enum gt_coll coll, uint32_t n)
{
	open_world(n);
	make_ops(coll);
	for (uint32_t i = 0; i < OPS; i++)
		world.ops[i].req.coll = coll;
	stage_ops();
	put_all();
	streams_expect_few_edges(n);
	close_world();
}

static void test_graphs(void **state)
{
	(void)state;
	for (uint32_t coll = 0; coll < GT_NCOLLS; coll++)
		for (uint32_t n = 2; n <= 4; n++)
			expect_graph((enum gt_coll)coll, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),    cmocka_unit_test(test_many),
		cmocka_unit_test(test_chunks), cmocka_unit_test(test_failure),
		cmocka_unit_test(test_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
