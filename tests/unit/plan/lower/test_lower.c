#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"

/* A plan with nchannels rings of n ranks, every other one backwards. */
static struct gt_plan *make_rings(uint32_t n, uint32_t nchannels)
{
	struct gt_plan *plan = gt_plan_new();

	assert_non_null(plan);
	plan->nranks = n;
	plan->nchannels = nchannels;
	plan->channels =
		gt_arena_array(plan->arena, nchannels, sizeof(*plan->channels));
	assert_non_null(plan->channels);
	for (uint32_t c = 0; c < nchannels; c++) {
		struct gt_plan_channel *channel = &plan->channels[c];

		channel->id = c;
		channel->share = GT_RAT(1 + c, nchannels * (nchannels + 1) / 2);
		channel->norder = n;
		channel->order =
			gt_arena_array(plan->arena, n, sizeof(*channel->order));
		assert_non_null(channel->order);
		for (uint32_t i = 0; i < n; i++)
			channel->order[i] = c % 2 ? n - 1 - i : i;
	}
	return plan;
}

static void lower_one(const struct gt_plan *plan, enum gt_coll coll,
		      uint32_t rank, struct gt_program *program)
{
	const struct gt_lower_query want = {.use = {.coll = coll},
					    .rank = rank};

	assert_int_equal(gt_lower(plan, &want, plan->arena, program, NULL), 0);
}

static void test_ring_steps(void **state)
{
	struct gt_plan *plan = make_rings(4, 1);
	static const uint8_t ops[] = {
		GT_OP_SEND,
		GT_OP_RECV_REDUCE_SEND,
		GT_OP_RECV_REDUCE_SEND,
		GT_OP_RECV_REDUCE_COPY_SEND,
		GT_OP_RECV_COPY_SEND,
		GT_OP_RECV_COPY_SEND,
		GT_OP_RECV,
	};
	static const uint32_t chunks[] = {0, 3, 2, 1, 0, 3, 2};
	struct gt_program p;

	(void)state;
	lower_one(plan, GT_COLL_ALLREDUCE, 1, &p);
	assert_int_equal(p.nsteps, 7);
	assert_int_equal(p.nconns, 2);
	assert_int_equal(p.conns[0].peer, 0);
	assert_int_equal(p.conns[1].peer, 2);
	for (uint32_t i = 0; i < p.nsteps; i++) {
		assert_int_equal(p.steps[i].id, i);
		assert_int_equal(p.steps[i].op, ops[i]);
		assert_int_equal(p.steps[i].chunk, chunks[i]);
		assert_int_equal(p.steps[i].flags, i == 3 ? GT_STEP_FINAL : 0);
	}
	gt_plan_free(plan);
}

static void test_small_rings(void **state)
{
	static const uint32_t steps_of_two[] = {3, 2, 2};

	(void)state;
	for (int coll = 0; coll < TEST_NCOLLS; coll++) {
		struct gt_plan *one = make_rings(1, 1), *two = make_rings(2, 1);
		struct gt_program p;

		lower_one(one, coll, 0, &p);
		assert_int_equal(p.nsteps, 1);
		assert_int_equal(p.nconns, 0);
		assert_int_equal(p.steps[0].op, GT_OP_COPY);
		lower_one(two, coll, 1, &p);
		assert_int_equal(p.nsteps, steps_of_two[coll]);
		assert_int_equal(p.conns[0].peer, 0);
		assert_int_equal(p.conns[1].peer, 0);
		gt_plan_free(one);
		gt_plan_free(two);
	}
}

/* Channels, chunks, workers and slices lie one behind the other. */
static void check_tiling(const struct gt_plan *plan,
			 const struct gt_layout_args *args)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < args->nsel; i++) {
		struct gt_layout lay;

		assert_int_equal(
			gt_layout_init(plan, args->sel[i], args, &lay, NULL),
			0);
		assert_true(lay.lo == at);
		for (uint32_t c = 0; c < lay.nchunks; c++) {
			uint64_t block = c / lay.per_block * lay.block_elems;

			if (!(c % lay.per_block))
				at = block + lay.lo;
			for (uint32_t w = 0; w < lay.nworkers; w++)
				for (uint32_t l = 0; l < lay.loops; l++) {
					struct gt_range r =
						gt_layout_slice(&lay, c, w, l);

					assert_true(r.offset == at);
					assert_true(r.count <= lay.slice_elems);
					at += r.count;
				}
			if (!((c + 1) % lay.per_block))
				assert_true(at == block + lay.hi);
		}
		at = lay.hi;
	}
	assert_true(at == args->count);
}

static void test_layouts_tile(void **state)
{
	static const uint64_t counts[] = {0,  1,   2,    3,     4,    5,
					  17, 997, 4096, 65537, 99991};
	static const uint32_t sels[][4] = {
		{0, 1, 2, 3}, {2}, {3, 1}, {1, 0, 3}};
	static const uint32_t nsels[] = {4, 1, 2, 3};
	struct gt_plan *plan = make_rings(7, 4);

	(void)state;
	for (size_t i = 0; i < 11 * 4 * 3 * 5; i++) {
		struct gt_layout_args args = {
			.use = {.coll = (enum gt_coll)(i % 3)},
			.count = counts[i / 3 % 11],
			.nsel = nsels[i / 33 % 4],
			.sel = sels[i / 33 % 4],
			.elem_bytes = 1u << i / 132,
			.slice_bytes = 40 + (uint32_t)i,
			.nworkers = 1 + (uint32_t)(i % 6),
		};

		check_tiling(plan, &args);
	}
	gt_plan_free(plan);
}

static void test_bad_layouts(void **state)
{
	struct gt_plan *plan = make_rings(4, 2);
	const struct gt_layout_args good = {
		.count = 8, .elem_bytes = 4, .slice_bytes = 64, .nworkers = 1};
	struct gt_layout_args args[6];
	static const uint32_t only_one = 1, none = 7;
	struct gt_layout lay;

	(void)state;
	for (int i = 0; i < 6; i++)
		args[i] = good;
	args[0].slice_bytes = 3;
	args[1].nworkers = 0;
	args[2].count = UINT64_MAX / 2;
	args[3].count = UINT64_MAX / 64;
	args[3].slice_bytes = 4;
	args[4].nsel = 1;
	args[4].sel = &only_one;
	args[5].nsel = 1;
	args[5].sel = &none;
	assert_int_equal(gt_layout_init(plan, 0, &good, &lay, NULL), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(gt_layout_init(plan, 0, &args[i], &lay, NULL),
				 GT_EINPUT);
	gt_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_steps),
		cmocka_unit_test(test_small_rings),
		cmocka_unit_test(test_layouts_tile),
		cmocka_unit_test(test_bad_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
