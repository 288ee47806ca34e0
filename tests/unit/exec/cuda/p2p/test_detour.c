/*
 * Detours, SIMULATED: no GPU takes part.  What exec/cuda/p2p/detour.c puts on
 * streams is played in many orders (detour_world.h).
 *
 * The rest of a request, which takes no detour, is meetings and copies that
 * bring nothing (test_copy_engine.c has what copies bring): around the detour
 * or, for sums, beside it, as exec/cuda/p2p/copy_engine.c has it; or as a root
 * has it that pulls.  Beside it, they need queues that are alike on all ranks.
 */
#include "unit/exec/cuda/p2p/detour_world.h"

/* Put the first meeting of the rest, or the last, or only tell of it. */
static void put_meeting(uint32_t rank, uint32_t which, uint32_t number,
			int waits)
{
	struct gt_detour_args args = {.me = rank,
				      .nranks = waits ? world.plan.nranks : 0,
				      .number = number,
				      .last = number == 2};

	args.guard.epoch = &world.sides[rank].main;
	for (uint32_t r = 0; r < world.plan.nranks; r++)
		args.flags[r] = &world.sides[r].told;
	streams_put(streams_of(rank, which), MEET)->args =
		kept(&args, sizeof(args));
}

static void put_main(uint32_t rank, uint32_t number, int waits)
{
	put_meeting(rank, STREAM_MAIN, number, waits);
}

static void put_after(uint32_t rank, uint32_t to, uint32_t from)
{
	uint32_t event;

	streams_record(streams_of(rank, from), &event);
	streams_await(streams_of(rank, to), &event);
}

static void put_main_copy(uint32_t rank, uint32_t step)
{
	struct side *side = &world.sides[rank];

	put_copy(streams_of(rank, STREAM_MAIN), side->to, side->from,
		 CHUNK_BYTES)
		->step = step;
}

/* Put the rest, from where a detour begins beside it to where it ends. */
static int put_both(const struct op *op, uint32_t rank)
{
	int pulls = op->order == PULLED && rank == op->req.root;
	struct gt_exec_request rest = op->req;
	int rc = gt_cuda_detour_begin(&world.engine, rank);

	if (op->order == BESIDE)
		put_main_copy(rank, 0);
	if (op->order == BESIDE || pulls)
		put_main(rank, 1, 1);
	if (op->order != PULLED || pulls)
		put_main_copy(rank, 1);
	if (pulls)
		put_main(rank, 2, 0);
	rest.part_count = rest.count - op->away;
	return rc ? rc : gt_cuda_detour_launch(&world.engine, &rest, rank);
}

static int launch(uint32_t index, uint32_t rank)
{
	const struct op *op = &world.ops[index];
	int pulls = op->order == PULLED && rank == op->req.root, rc;
	/* A kernel that moves the head; some ranks have nothing to send. */
	int head = op->order == AROUND && (index + rank) % 3;

	put_call(rank, fill);
	if (head)
		put_after(rank, STREAM_SIDE, STREAM_MAIN);
	/* Queues may bring either first. */
	if (head && index % 2)
		put_meeting(rank, STREAM_SIDE, 1, 1);
	if (op->order == AROUND || (op->order == PULLED && !pulls))
		put_main(rank, 1, op->order == AROUND);
	if (head && !(index % 2))
		put_meeting(rank, STREAM_SIDE, 1, 1);
	rc = put_both(op, rank);
	if (head)
		put_after(rank, STREAM_MAIN, STREAM_SIDE);
	if (!pulls)
		put_main(rank, 2, 1);
	put_call(rank, check);
	return rc;
}

/* As graphs are queued only those are put that need no queues alike. */
static void put_all(void)
{
	while (streams.nops < OPS) {
		int beside = world.ops[streams.nops].order == BESIDE;
		int left_out = beside && streams.in_graph;

		for (uint32_t r = 0; r < world.plan.nranks && !left_out; r++)
			assert_int_equal(launch(streams.nops, r), 0);
		streams.alike[streams.nops] = beside;
		streams_next();
	}
}

static void play_many(uint32_t n, uint32_t plays)
{
	for (uint64_t set = 0; set < 3; set++) {
		open_world(n);
		streams.in_graph = set == 2;
		make_ops(n * 2 + set);
		put_all();
		for (uint64_t seed = 0; seed < plays; seed++)
			play(seed);
		close_world();
	}
}

static void test_two(void **state)
{
	(void)state;
	play_many(2, 72);
}

static void test_three(void **state)
{
	(void)state;
	play_many(3, 48);
}

static void test_four(void **state)
{
	(void)state;
	play_many(4, 36);
}

static void test_eight(void **state)
{
	(void)state;
	play_many(8, 24);
}

static void test_sixteen(void **state)
{
	(void)state;
	play_many(16, 12);
}

/* What CUDA refuses ends a launch: its code comes back, no more is put. */
static void test_failure(void **state)
{
	uint32_t calls;

	(void)state;
	open_world(3);
	make_ops(1);
	assert_int_equal(launch(0, 0), 0);
	calls = world.calls;
	for (uint32_t most = 0; most < calls; most++) {
		streams.meetings[0] = 0;
		world.calls = 0;
		world.calls_most = most;
		assert_int_equal(launch(0, 0), cudaErrorUnknown);
		assert_int_equal(world.calls, most + 1);
	}
	close_world();
}

/* A graph of one operation many times has as many edges for each. */
static void expect_graph(enum gt_coll coll, uint32_t n)
{
	open_world(n);
	make_ops(coll);
	for (uint32_t i = 0; i < OPS; i++) {
		world.ops[i].req.coll = coll;
		world.ops[i].order = order_of(coll);
	}
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

/* What goes the detour is whole lines of each rank. */
static void test_rest(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_INT32};
	const uint64_t grain = 3 * LINE_ELEMS;

	(void)state;
	open_world(3);
	for (uint32_t permille = 0; permille < 500; permille += 83)
		for (req.count = 1; req.count < 1 << 24; req.count *= 7) {
			struct gt_exec_request rest;
			uint64_t most = req.count * permille / 1000, away;

			world.engine.choice.detour_permille = permille;
			rest = gt_cuda_detour_rest(&world.engine, &req);
			assert_int_equal(rest.count, req.count);
			assert_int_equal(rest.part_first, 0);
			if (!rest.part_count) {
				assert_true(most < 1000 + grain);
				continue;
			}
			away = req.count - rest.part_count;
			assert_int_equal(away % grain, 0);
			assert_in_range(away, 1, most);
			assert_true(away + 1000 + grain > most);
		}
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),     cmocka_unit_test(test_three),
		cmocka_unit_test(test_four),    cmocka_unit_test(test_eight),
		cmocka_unit_test(test_sixteen), cmocka_unit_test(test_failure),
		cmocka_unit_test(test_graphs),  cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
