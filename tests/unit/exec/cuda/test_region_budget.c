/* How many communicators have large parts of a GPU's memory. */
#include "exec/cuda/region_budget.h"
#include "unit/test.h"

static int may_be_large(int gpu, uint64_t bytes)
{
	return gt_region_may_be_large(gpu, bytes / 2, bytes);
}

static void test_budget(void **state)
{
	const uint64_t gib = UINT64_C(1) << 30;
	int n = 0;

	(void)state;
	assert_false(may_be_large(0, 24 * gib));
	assert_false(may_be_large(0, 32 * gib - 1));
	for (; may_be_large(0, 141 * gib); n++)
		gt_region_count_large(0, 1);
	assert_int_equal(n, 4);
	assert_true(may_be_large(1, 141 * gib));
	gt_region_count_large(0, -1);
	assert_true(may_be_large(0, 141 * gib));
	assert_false(may_be_large(0, 80 * gib));
	/* The program has the rest. */
	assert_false(gt_region_may_be_large(1, 17 * gib, 141 * gib));
	/* There is no such GPU to count. */
	gt_region_count_large(-1, 1);
	gt_region_count_large(1 << 20, 1);
	assert_false(may_be_large(-1, 141 * gib));
	assert_false(may_be_large(1 << 20, 141 * gib));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
