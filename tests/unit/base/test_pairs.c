/* Pairs of numbers as people write them. */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "base/pairs.h"

static void test_in_order(void **state)
{
	static const struct gt_pair want[] = {{2, 3}, {1, 0}, {0, 999999}};
	struct gt_pairs pairs = {.words = "2-3,1-0,0-999999"};
	struct gt_pair pair;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	pairs.rest = pairs.words;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(gt_pairs_next(&pairs, &pair, &err), 1);
		assert_int_equal(pair.a, want[i].a);
		assert_int_equal(pair.b, want[i].b);
	}
	assert_int_equal(gt_pairs_next(&pairs, &pair, &err), 0);
	assert_int_equal(gt_pairs_next(&pairs, &pair, &err), 0);
}

static void test_nonsense_is_named(void **state)
{
	struct gt_pairs pairs = {"0-1,2:3", "--apart", "boxes", NULL};
	struct gt_pair pair;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	pairs.rest = pairs.words;
	assert_int_equal(gt_pairs_next(&pairs, &pair, &err), 1);
	assert_int_equal(gt_pairs_next(&pairs, &pair, &err), GT_EINPUT);
	assert_string_equal(err.where, "--apart");
	assert_string_equal(err.text,
			    "'0-1,2:3' makes no sense from character 6 on: "
			    "'off' or pairs of boxes such as 0-1,2-3");
}

static void test_all(void **state)
{
	(void)state;
	assert_true(gt_pairs_are_all("off"));
	assert_false(gt_pairs_are_all("offs"));
	assert_false(gt_pairs_are_all(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_nonsense_is_named),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
