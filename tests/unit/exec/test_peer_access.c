/* Words that turn peer access off. */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "base/pairs.h"
#include "exec/peer_access.h"

static void test_pairs(void **state)
{
	static const struct {
		const char *words;
		uint32_t n;
		int rc;
		uint32_t a, b;
	} cases[] = {
		{NULL, 4, 0, 0, 0},          {"", 4, 0, 0, 0},
		{"off", 4, 1, 0, 1},         {"off", 1, 0, 0, 0},
		{"0-1", 2, 1, 0, 1},         {"3-2", 4, 1, 3, 2},
		{"2-3,0-1", 4, 1, 2, 3},     {"2-3,0-1", 2, 1, 0, 1},
		{"4-5,6-7", 4, 0, 0, 0},     {"10-15,0-999999", 16, 1, 10, 15},
		{"1-0,0-1,1-0", 2, 1, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gt_pair pair = {0, 0};
		struct gt_err err;

		gt_err_init(&err);
		assert_int_equal(gt_peer_access_off(cases[i].words,
						    GT_PEER_ACCESS_VARIABLE,
						    cases[i].n, &pair, &err),
				 cases[i].rc);
		assert_int_equal(pair.a, cases[i].a);
		assert_int_equal(pair.b, cases[i].b);
	}
}

static void test_nonsense(void **state)
{
	static const struct {
		const char *words, *place;
	} cases[] = {
		{"on", "character 1 "},        {"off,", "character 1 "},
		{"0", "character 2 "},         {"0-", "character 3 "},
		{"0-x", "character 3 "},       {"0-1,", "character 5 "},
		{"0-1;2-3", "character 4 "},   {"0-0", "character 4 "},
		{"-1-0", "character 1 "},      {"0-1,,2-3", "character 5 "},
		{" 0-1", "character 1 "},      {"0-1 ", "character 4 "},
		{"0-1234567", "character 9 "}, {"0-1,2-3,x", "character 9 "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gt_pair pair;
		struct gt_err err;

		gt_err_init(&err);
		assert_int_equal(gt_peer_access_off(cases[i].words,
						    GT_PEER_ACCESS_VARIABLE, 8,
						    &pair, &err),
				 GT_EINPUT);
		assert_non_null(strstr(err.text, cases[i].place));
		assert_non_null(strstr(err.text, "0-1,2-3"));
		assert_string_equal(err.where, GT_PEER_ACCESS_VARIABLE);
	}
}

/* An option is for one run, whose ranks are known. */
static void test_ranks_of_option(void **state)
{
	struct gt_pair pair;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_peer_access_off("0-1,2-3", GT_PEER_ACCESS_OPTION, 3,
					    &pair, &err),
			 GT_EINPUT);
	assert_non_null(strstr(err.text, "rank 3"));
	assert_non_null(strstr(err.text, "0 to 2"));
	assert_int_equal(gt_peer_access_off("0-1,2-3", GT_PEER_ACCESS_OPTION, 4,
					    &pair, &err),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_ranks_of_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
