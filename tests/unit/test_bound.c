#include "unit/test.h"

#include "base/err.h"
#include "search/bound.h"
#include "search/maxflow.h"
#include "unit/fabrics.h"

/* The least capacity leaving a node set with exactly these ranks. */
static struct gt_rat cut_of(const struct gt_fabric *f, uint32_t ranks,
			    int reverse)
{
	uint32_t others = f->nnodes - f->nranks;
	struct gt_rat best = GT_RAT(INT64_MAX, 1), sum;

	for (uint32_t more = 0; more < 1u << others; more++) {
		uint32_t set = ranks | more << f->nranks;

		sum = GT_RAT(0, 1);
		for (uint32_t i = 0; i < f->nlinks; i++) {
			const struct gt_fabric_link *l = &f->links[i];
			int from = set >> l->from & 1, to = set >> l->to & 1;

			if (reverse ? to && !from : from && !to)
				assert_true(gt_rat_add(sum, l->gbs, &sum));
		}
		if (gt_rat_cmp(sum, best) < 0)
			best = sum;
	}
	return best;
}

static struct gt_rat spread_bound(const struct gt_fabric *f, int reverse)
{
	struct gt_rat best = GT_RAT(INT64_MAX, 1), one;
	uint32_t n = f->nranks;

	for (uint32_t set = 1; set < (1u << n) - 1; set++) {
		one = cut_of(f, set, reverse);
		assert_true(gt_rat_mul(
			one, GT_RAT(n - 1, __builtin_popcount(set)), &one));
		if (gt_rat_cmp(one, best) < 0)
			best = one;
	}
	return best;
}

/* Every partition: part[i] is at most one more than all before it. */
static void parts_bound(const struct gt_fabric *f, uint32_t *part, uint32_t i,
			uint32_t count, struct gt_rat *best)
{
	int64_t n = f->nranks;
	struct gt_rat sum = GT_RAT(0, 1);

	if (i < f->nranks) {
		for (uint32_t p = 0; p <= count; p++) {
			part[i] = p;
			parts_bound(f, part, i + 1, count + (p == count), best);
		}
		return;
	}
	if (count < 2)
		return;
	for (uint32_t p = 0; p < count; p++) {
		uint32_t set = 0;

		for (uint32_t k = 0; k < f->nranks; k++)
			set |= (uint32_t)(part[k] == p) << k;
		assert_true(gt_rat_add(sum, cut_of(f, set, 0), &sum));
	}
	assert_true(gt_rat_mul(sum, GT_RAT(n - 1, n * (count - 1)), &sum));
	if (gt_rat_cmp(sum, *best) < 0)
		*best = sum;
}

static void expect(const struct gt_fabric *f, enum gt_coll coll,
		   struct gt_rat want, struct gt_arena *arena)
{
	struct gt_bound bound;
	char text[2][GT_RAT_TEXT_MAX];

	assert_int_equal(gt_bound_find(f, coll, arena, &bound, NULL), GT_OK);
	assert_true(bound.found);
	assert_string_equal(gt_rat_print(bound.value, text[0]),
			    gt_rat_print(want, text[1]));
}

static void test_against_all_cuts(void **state)
{
	struct gt_chance c = {7};
	uint32_t part[8];

	(void)state;
	for (int seed = 0; seed < 200; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 2 + gt_chance(&c, 5);
		struct gt_fabric *f = gt_fabric_chance(arena, &c, n);
		struct gt_rat best = GT_RAT(INT64_MAX, 1);

		expect(f, GT_COLL_ALLGATHER, spread_bound(f, 0), arena);
		expect(f, GT_COLL_REDUCESCATTER, spread_bound(f, 1), arena);
		parts_bound(f, part, 0, 0, &best);
		expect(f, GT_COLL_ALLREDUCE, best, arena);
		gt_arena_free(arena);
	}
}

/* Three V100 of a DGX-1: what is best differs between the collectives. */
static void test_three_gpus(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 3, 0);

	(void)state;
	gt_fabric_both(f, 0, 1, GT_RAT(25, 1));
	gt_fabric_both(f, 0, 2, GT_RAT(50, 1));
	gt_fabric_both(f, 1, 2, GT_RAT(50, 1));
	/* all-gather 225/2 of output a second, all-reduce 125/2 */
	expect(f, GT_COLL_ALLGATHER, GT_RAT(75, 1), arena);
	expect(f, GT_COLL_REDUCESCATTER, GT_RAT(75, 1), arena);
	expect(f, GT_COLL_ALLREDUCE, GT_RAT(250, 3), arena);
	gt_arena_free(arena);
}

/* Two boxes of two GPUs: 10 within a box, 1 a GPU between them. */
static void test_two_boxes(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 4, 3);

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		gt_fabric_both(f, i, 4 + i / 2, GT_RAT(10, 1));
		gt_fabric_both(f, i, 6, GT_RAT(1, 1));
	}
	expect(f, GT_COLL_ALLGATHER, GT_RAT(3, 1), arena);
	gt_arena_free(arena);
}

static void test_nothing_to_bound(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 1, 0);
	struct gt_bound bound;

	(void)state;
	assert_int_equal(
		gt_bound_find(f, GT_COLL_ALLREDUCE, arena, &bound, NULL),
		GT_OK);
	assert_false(bound.found);
	gt_arena_free(arena);
}

/* Rates whose common denominator is beyond 64 bits: the bound stays exact. */
static void test_odd_rates(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 3, 0);

	(void)state;
	gt_fabric_both(f, 0, 1, GT_RAT(250000001, 1000000007));
	gt_fabric_both(f, 0, 2, GT_RAT(748683265, 998244353));
	gt_fabric_both(f, 1, 2, GT_RAT(2250000007, 1000000009));
	expect(f, GT_COLL_ALLGATHER, spread_bound(f, 0), arena);
	gt_arena_free(arena);
}

static void test_flow(void **state)
{
	struct gt_flow *flow = gt_flow_new(4, 5);
	static const uint32_t arcs[5][3] = {
		{0, 1, 3}, {0, 2, 2}, {1, 2, 5}, {1, 3, 2}, {2, 3, 3}};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		gt_flow_set(flow, gt_flow_add(flow, arcs[i][0], arcs[i][1]),
			    arcs[i][2]);
	assert_int_equal(gt_flow_run(flow, 0, 3), 5);
	gt_flow_set(flow, 4, 1);
	assert_int_equal(gt_flow_run(flow, 0, 3), 3);
	assert_true(gt_flow_inside(flow, 2));
	assert_false(gt_flow_inside(flow, 3));
	gt_flow_free(flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_against_all_cuts),
		cmocka_unit_test(test_three_gpus),
		cmocka_unit_test(test_two_boxes),
		cmocka_unit_test(test_nothing_to_bound),
		cmocka_unit_test(test_odd_rates),
	};

	return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
