/*
 * Bounds by cuts, compared with every cut and partition of small fabrics, and
 * with maximum flows of a file of its own, which published bandwidths are held
 * against, too.
 */
#include "unit/test.h"

#include "base/err.h"
#include "search/bound/bound.h"
#include "search/graph/graph.h"
#include "unit/search/every_cut.h"
#include "unit/search/fabrics.h"
#include "unit/search/known_bounds.h"
#include "unit/search/least_cut.h"

static void expect(const struct gt_fabric *f, enum gt_coll coll,
		   struct gt_rat want, struct gt_arena *arena)
{
	struct gt_bound_query ask = {f, coll, 0};
	struct gt_bound bound;
	char text[2][GT_RAT_TEXT_MAX];

	assert_int_equal(gt_bound_find(&ask, arena, &bound, NULL), GT_OK);
	assert_true(bound.found);
	assert_string_equal(gt_rat_print(bound.value, text[0]),
			    gt_rat_print(want, text[1]));
}

/* The least cut by flows is the least of all cuts, in bytes of the result. */
static void expect_least(const struct gt_fabric *f, int reverse,
			 struct gt_arena *arena)
{
	int64_t n = f->nranks;
	struct gt_rat best = spread_bound(f, reverse);

	assert_true(gt_rat_mul(best, GT_RAT(n, n - 1), &best));
	expect_equal(least_cut(f, reverse, arena), best);
}

static void test_against_all_cuts(void **state)
{
	struct gt_random c = {7};
	uint32_t part[8];

	(void)state;
	for (int seed = 0; seed < 200; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 2 + gt_random(&c, 5);
		struct gt_fabric *f = gt_fabric_random(arena, &c, n);
		struct gt_rat best = GT_RAT(INT64_MAX, 1);

		expect(f, GT_COLL_ALLGATHER, spread_bound(f, 0), arena);
		expect(f, GT_COLL_REDUCESCATTER, spread_bound(f, 1), arena);
		expect_least(f, 0, arena);
		expect_least(f, 1, arena);
		expect(f, GT_COLL_BROADCAST, rooted_bound(f, 0), arena);
		expect(f, GT_COLL_REDUCE, rooted_bound(f, 1), arena);
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

/* Two nodes of two GPUs: 10 within a node, 1 a GPU between them. */
static void test_two_nodes(void **state)
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
	struct gt_bound_query ask = {f, GT_COLL_ALLREDUCE, 0};
	struct gt_bound bound;

	(void)state;
	assert_int_equal(gt_bound_find(&ask, arena, &bound, NULL), GT_OK);
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
	struct gt_maxflow *flow = gt_maxflow_new(4, 5);
	static const uint32_t arcs[5][3] = {
		{0, 1, 3}, {0, 2, 2}, {1, 2, 5}, {1, 3, 2}, {2, 3, 3}};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		gt_maxflow_set(flow,
			       gt_maxflow_add(flow, arcs[i][0], arcs[i][1]),
			       arcs[i][2]);
	assert_int_equal(gt_maxflow_run(flow, 0, 3), 5);
	gt_maxflow_set(flow, 4, 1);
	assert_int_equal(gt_maxflow_run(flow, 0, 3), 3);
	assert_true(gt_maxflow_is_source_side(flow, 2));
	assert_false(gt_maxflow_is_source_side(flow, 3));
	gt_maxflow_free(flow);
}

/* What a file says is the least cut, and what the search finds. */
static void expect_row(const struct gt_fabric *f, struct gt_arena *arena,
		       enum gt_coll coll, const char *want)
{
	int64_t n = f->nranks;
	struct gt_rat rate;

	if ((int)coll < 0 ||
	    (coll != GT_COLL_ALLGATHER && coll != GT_COLL_REDUCESCATTER))
		return;
	assert_true(gt_rat_parse(want, &rate));
	expect_equal(least_cut(f, coll == GT_COLL_REDUCESCATTER, arena), rate);
	assert_true(gt_rat_mul(rate, GT_RAT(n - 1, n), &rate));
	expect(f, coll, rate, arena);
}

static void test_known(void **state)
{
	(void)state;
	bounds_each(expect_row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_against_all_cuts),
		cmocka_unit_test(test_three_gpus),
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_nothing_to_bound),
		cmocka_unit_test(test_odd_rates),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
