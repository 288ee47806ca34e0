/*
 * Operations of a group to launches: whatever they are, no two share a chunk of
 * a mailbox or a warp, nothing is beyond what there is, and the work is spread.
 */
#include "draw.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "exec/cuda/bundle.h"
#include "kernels/kernels.h"

enum { OPS = 300, ROUNDS = 3000, BOX = 10000 };

static uint32_t chunks_of(const struct gt_bundle_op *op)
{
	uint64_t bytes = op->two_shots ? op->slice : op->bytes;
	uint64_t each = op->ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA;
	uint64_t n = (bytes + each - 1) / each;

	return n ? (uint32_t)n : 1;
}

/* One launch of n operations, by definition. */
static void expect_launch(const struct gt_bundle_op *ops, uint32_t n,
			  const struct gt_bundle_limits *limits)
{
	char taken[2][BOX];
	uint32_t warp = 0;

	memset(taken, 0, sizeof(taken));
	assert_true(n >= 1 && n <= limits->ops);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parts = ops[i].two_shots ? 2 : 1;
		uint32_t box = ops[i].ll128 != 0;

		assert_int_equal(ops[i].chunks, chunks_of(&ops[i]));
		assert_true(ops[i].ll_chunk + parts * ops[i].chunks <=
			    limits->chunks[box]);
		for (uint32_t c = 0; c < parts * ops[i].chunks; c++) {
			assert_int_equal(taken[box][ops[i].ll_chunk + c], 0);
			taken[box][ops[i].ll_chunk + c] = 1;
		}
		assert_int_equal(ops[i].warp, warp);
		assert_in_range(ops[i].warps, 1, ops[i].chunks);
		warp += ops[i].warps;
	}
	assert_true(warp <= limits->warps);
}

/* What a warp of the operation has to do. */
static uint32_t load(const struct gt_bundle_op *op)
{
	return (op->chunks + op->warps - 1) / op->warps *
	       (op->two_shots ? 2 : 1);
}

/* With one warp more than all have, would the slowest be quicker? */
static void expect_spread(const struct gt_bundle_op *ops, uint32_t n,
			  const struct gt_bundle_limits *limits)
{
	uint32_t most = 0, warps = 0, needed = 0;

	for (uint32_t i = 0; i < n; i++)
		if (load(&ops[i]) > most)
			most = load(&ops[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parts = ops[i].two_shots ? 2 : 1,
			 rounds = most / parts;

		warps += ops[i].warps;
		/* Warps with which all are quicker than the slowest is now. */
		rounds -= most % parts == 0;
		if (!rounds)
			return;
		needed += (ops[i].chunks + rounds - 1) / rounds;
	}
	if (needed <= limits->warps)
		fail_msg("%u of %u warps would do, most is %u", needed,
			 limits->warps, most);
	assert_true(warps <= limits->warps);
}

static uint64_t draw_bytes(uint64_t *state, uint64_t most)
{
	uint64_t bytes = draw(state, 2u << draw(state, 23));

	return bytes < most ? bytes : most;
}

/* As the engine makes them: each fits if it is alone. */
static struct gt_bundle_op draw_op(uint64_t *state,
				   const struct gt_bundle_limits *limits)
{
	struct gt_bundle_op op = {.is_fixed = !draw(state, 4),
				  .ll128 = limits->has_ll128 && draw(state, 2)};
	uint64_t room =
		limits->chunks[op.ll128] *
		(uint64_t)(op.ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA);

	op.bytes = draw_bytes(state, room);
	if (draw(state, 2)) {
		op.two_shots = !op.is_fixed && draw(state, 2);
		if (op.two_shots)
			op.bytes = op.bytes / 2 / 128 * 128;
		op.slice = op.bytes / limits->nranks;
	}
	return op;
}

static uint32_t draw_limits(uint64_t *state, struct gt_bundle_limits *limits)
{
	*limits =
		(struct gt_bundle_limits){.nranks = 2 + draw(state, 15),
					  .ops = 1 + draw(state, 80),
					  .warps = 16 * (1 + draw(state, 150)),
					  .chunks = {1024, 9216},
					  .has_ll128 = (int)draw(state, 2)};
	return 1 + draw(state, OPS);
}

static void test_random(void **state)
{
	struct gt_bundle_limits limits;
	struct gt_bundle_op ops[OPS];
	uint64_t seed = 4;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t n = draw_limits(&seed, &limits), m;

		for (uint32_t i = 0; i < n; i++)
			ops[i] = draw_op(&seed, &limits);
		gt_bundle_choose(ops, n, &limits);
		for (uint32_t done = 0; done < n; done += m) {
			m = gt_bundle_divide(&ops[done], n - done, &limits);
			assert_true(m <= n - done);
			expect_launch(&ops[done], m, &limits);
			expect_spread(&ops[done], m, &limits);
		}
	}
}

/* 132 multiprocessors, 4 GPUs. */
static const struct gt_bundle_limits h200 = {.nranks = 4,
					     .ops = GT_GROUP_OPS,
					     .warps = 132 * GT_PACKET_WARPS,
					     .chunks = {1024, 9216},
					     .has_ll128 = 1};

/* n all-reduces of so many bytes; launches that they take. */
static uint32_t launches(struct gt_bundle_op *ops, uint32_t n, uint64_t bytes)
{
	uint32_t count = 0, done;

	for (uint32_t i = 0; i < n; i++)
		ops[i] = (struct gt_bundle_op){.bytes = bytes,
					       .slice = (bytes / 4 + 127) /
							128 * 128,
					       .ll128 = bytes > 32 << 10};
	gt_bundle_choose(ops, n, &h200);
	for (done = 0; done < n; count++)
		done += gt_bundle_divide(&ops[done], n - done, &h200);
	return count;
}

static void test_chosen(void **state)
{
	struct gt_bundle_op ops[OPS];

	(void)state;
	/* Few bytes go in one shot, by ll; each chunk has a warp. */
	assert_int_equal(launches(ops, 4, 1 << 10), 1);
	assert_false(ops[0].two_shots || ops[0].ll128);
	assert_int_equal(ops[3].warps, 2);
	/* Many together do not, though each alone would. */
	assert_int_equal(launches(ops, 1, 16 << 10), 1);
	assert_false(ops[0].two_shots || ops[0].ll128);
	assert_int_equal(launches(ops, 64, 16 << 10), 1);
	assert_true(ops[0].two_shots && ops[63].two_shots && ops[63].ll128);
	/* Nothing is saved where a chunk would be nearly empty. */
	assert_int_equal(launches(ops, GT_GROUP_OPS, 512), 1);
	assert_false(ops[0].two_shots || ops[0].ll128);
	/* More than arguments, and more than mailboxes have room for. */
	assert_int_equal(launches(ops, GT_GROUP_OPS + 1, 512), 2);
	assert_int_equal(launches(ops, 64, 1 << 20), 4);
}

/* What was asked for stays. */
static void test_fixed(void **state)
{
	struct gt_bundle_op ops[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		ops[i] = (struct gt_bundle_op){.bytes = 512 << 10,
					       .slice = 128 << 10,
					       .is_fixed = i % 2};
	gt_bundle_choose(ops, 8, &h200);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ops[i].two_shots && ops[i].ll128, !(i % 2));
	assert_int_equal(gt_bundle_divide(ops, 8, &h200), 3);
}

static struct gt_bundle_op allreduce_of(uint64_t bytes)
{
	return (struct gt_bundle_op){.bytes = bytes,
				     .slice = bytes / 4,
				     .push = bytes > 6 << 20,
				     .may_push = bytes >= 128 << 10};
}

/* Through scratch go those that are as many bytes together as one would be. */
static void test_pushed(void **state)
{
	struct gt_bundle_op ops[40];

	(void)state;
	for (int i = 0; i < 40; i++)
		ops[i] = allreduce_of(256 << 10);
	gt_bundle_choose(ops, 24, &h200);
	for (int i = 0; i < 24; i++)
		assert_true(!ops[i].push && ops[i].ll128);
	for (int i = 0; i < 40; i++)
		ops[i] = allreduce_of(i % 2 ? 1 << 10 : 512 << 10);
	ops[2].is_fixed = 1;
	ops[4].may_push = 0;
	gt_bundle_choose(ops, 40, &h200);
	for (int i = 0; i < 40; i++)
		assert_int_equal(ops[i].push, i % 2 == 0 && i != 2 && i != 4);
	/* What goes packed is chosen as if the others were not there. */
	assert_false(ops[1].two_shots || ops[1].ll128);
	/* A large one takes others with it. */
	ops[0] = allreduce_of(8 << 20);
	ops[1] = allreduce_of(128 << 10);
	gt_bundle_choose(ops, 2, &h200);
	assert_true(ops[0].push && ops[1].push);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_pushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
