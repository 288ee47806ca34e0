#include "unit/test.h"

#include "base/unit.h"

static void test_bytes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},           {"4096", 4096},     {"16K", 16384},
		{"16k", 16384},     {"16KiB", 16384},   {"1MB", 1 << 20},
		{"1G", 1ull << 30}, {"3T", 3ull << 40},
	};
	static const char *const bad[] = {
		"",    "K",   "-1", "1.5M",      "1X",
		"1KK", "1 K", " 1", "16777216T", "99999999999999999999",
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(gt_unit_bytes(good[i].text, &bytes), 1);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gt_unit_bytes(bad[i], &bytes), 0);
}

static void test_ns(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"30", 30000000000},   {"500ms", 500000000}, {"2s", 2000000000},
		{"1.5s", 1500000000},  {"7us", 7000},        {"8ns", 8},
		{"10m", 600000000000},
	};
	static const char *const bad[] = {"", "s", "-1s", "1x", "1e300h", " 1"};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(gt_unit_ns(good[i].text, &ns), 1);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gt_unit_ns(bad[i], &ns), 0);
}

static void test_int(void **state)
{
	static const char *const bad[] = {
		"",    "-",    "+1", " 1", "1 ",
		"1.0", "0x10", "11", "-6", "99999999999999999999",
	};
	int64_t value;

	(void)state;
	assert_int_equal(gt_unit_int("-5", -5, 10, &value), 1);
	assert_int_equal(value, -5);
	assert_int_equal(gt_unit_int("10", -5, 10, &value), 1);
	assert_int_equal(value, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gt_unit_int(bad[i], -5, 10, &value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_ns),
		cmocka_unit_test(test_int),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
