#include "unit/test.h"

#include "base/rat.h"

static struct gt_rat rat(const char *text)
{
	struct gt_rat r = GT_RAT(0, 0);

	assert_int_equal(gt_rat_parse(text, &r), 1);
	return r;
}

static void assert_rat(struct gt_rat r, const char *text)
{
	char printed[GT_RAT_TEXT_MAX];

	assert_string_equal(gt_rat_print(r, printed), text);
}

static void test_parse(void **state)
{
	static const char *const good[][2] = {
		{"1854/5", "1854/5"}, {"20.6", "103/5"}, {"12", "12"},
		{"-3/6", "-1/2"},     {"0", "0"},        {"0/7", "0"},
		{"-0.25", "-1/4"},    {"6/3", "2"},      {"007", "7"},
		{"0.5", "1/2"},
	};
	static const char *const bad[] = {
		"",
		"-",
		"1/",
		"/2",
		"1/0",
		"1.",
		".5",
		"1 ",
		" 1",
		"+1",
		"1/-2",
		"1/2/3",
		"0x1",
		"1e3",
		"1.5/2",
		"9223372036854775808",
		"0.1234567890123456789",
	};
	struct gt_rat r;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_rat(rat(good[i][0]), good[i][1]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gt_rat_parse(bad[i], &r), 0);
}

static void test_arithmetic(void **state)
{
	struct gt_rat r;

	(void)state;
	assert_int_equal(gt_rat_add(rat("1/6"), rat("1/10"), &r), 1);
	assert_rat(r, "4/15");
	assert_int_equal(gt_rat_sub(rat("1/6"), rat("1/6"), &r), 1);
	assert_rat(r, "0");
	assert_int_equal(gt_rat_mul(rat("-2/3"), rat("9/4"), &r), 1);
	assert_rat(r, "-3/2");
	assert_int_equal(gt_rat_div(rat("1/2"), rat("-3"), &r), 1);
	assert_rat(r, "-1/6");
}

/* What does not fit fails and leaves the result alone. */
static void test_overflow(void **state)
{
	struct gt_rat max = GT_RAT(INT64_MAX, 1), r = GT_RAT(7, 1);

	(void)state;
	assert_int_equal(gt_rat_add(max, GT_RAT(1, 1), &r), 0);
	assert_int_equal(gt_rat_mul(max, GT_RAT(2, 1), &r), 0);
	assert_int_equal(gt_rat_div(max, GT_RAT(0, 1), &r), 0);
	assert_int_equal(
		gt_rat_add(GT_RAT(1, INT64_MAX), GT_RAT(1, INT64_MAX - 1), &r),
		0);
	assert_rat(r, "7");
	/* The parts do not fit in 64 bits, the result does. */
	assert_int_equal(gt_rat_mul(max, GT_RAT(2, INT64_MAX), &r), 1);
	assert_rat(r, "2");
}

static void test_compare(void **state)
{
	(void)state;
	assert_true(gt_rat_cmp(rat("1/3"), rat("2/5")) < 0);
	assert_true(gt_rat_cmp(rat("-1/3"), rat("-2/5")) > 0);
	assert_int_equal(gt_rat_cmp(rat("2/4"), rat("1/2")), 0);
	assert_true(gt_rat_cmp(GT_RAT(INT64_MAX, INT64_MAX - 1),
			       GT_RAT(INT64_MAX - 1, INT64_MAX - 2)) < 0);
}

static void test_floor(void **state)
{
	(void)state;
	assert_int_equal(gt_rat_floor_mul(rat("1/3"), 10), 3);
	assert_int_equal(gt_rat_floor_mul(rat("1"), 10), 10);
	assert_int_equal(gt_rat_floor_mul(GT_RAT(INT64_MAX, 1), 2), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_floor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
