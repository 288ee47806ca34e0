/* Recorded steps, and the link that is named. */
#include "unit/test.h"

#include "base/err.h"
#include "exec/trace.h"

static struct gt_trace_step step_of(uint64_t bytes, int64_t begin, int64_t end)
{
	return (struct gt_trace_step){.since_ns = begin - 5,
				      .begin_ns = begin,
				      .end_ns = end,
				      .bytes = bytes,
				      .from = GT_TRACE_NONE,
				      .to = GT_TRACE_NONE};
}

static void test_slowest(void **state)
{
	struct gt_trace_step fast = step_of(1000, 0, 100);
	struct gt_trace_step slow = step_of(300, 100, 200);
	struct gt_trace_step empty = step_of(0, 200, 900);
	uint32_t from = 9, to = 9;
	struct gt_trace *trace;

	(void)state;
	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	assert_false(gt_trace_slowest(trace, &from, &to));
	assert_int_equal(from, 9);
	gt_trace_sent(trace, 0, 1, &fast);
	gt_trace_sent(trace, 1, 2, &fast);
	gt_trace_sent(trace, 1, 2, &slow);
	gt_trace_sent(trace, 2, 0, &empty);
	assert_true(gt_trace_slowest(trace, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
	assert_true(gt_trace_gbs(&trace->ranks[1].links[2]) == 6.5);
	assert_true(gt_trace_gbs(&trace->ranks[2].links[1]) == 0);
	gt_trace_free(trace);
	gt_trace_free(NULL);
}

/* All steps stay in order, and waits add up by whom they were for. */
static void test_steps(void **state)
{
	struct gt_trace *trace;

	(void)state;
	assert_int_equal(gt_trace_new(2, &trace, NULL), GT_OK);
	for (uint32_t i = 0; i < 5000; i++) {
		struct gt_trace_step step = step_of(i, 10 * i, 10 * i + 1);

		step.from = i % 2 ? 1 : GT_TRACE_NONE;
		gt_trace_add(trace, 0, &step);
	}
	assert_int_equal(trace->ranks[0].nsteps, 5000);
	assert_int_equal(trace->ranks[0].ndropped, 0);
	assert_int_equal(trace->ranks[1].nsteps, 0);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(trace->ranks[0].steps[i].bytes, i);
	assert_int_equal(trace->ranks[0].waits_ns[1], 2500 * 5);
	gt_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slowest),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
