#include "unit/test.h"

#include <string.h>

#include "base/buf.h"
#include "plan/ir/plan.h"
#include "report/report.h"

static const struct gt_report_head head = {
	.version = "1.2.3",
	.host = "here",
	.arch = "abacus",
	.cpus = 2,
	.engine = "host",
	.plan = "sha256:12",
	.ranks = 4,
	.channels = 3,
	.workers = 1,
	.slots = 8,
	.iters = 10,
	.warmup = 2,
};

static struct gt_report_row make_row(const struct gt_report *report,
				     const char *coll, uint64_t bytes)
{
	struct gt_report_row row = {.coll = coll,
				    .dtype = "float",
				    .op = "sum",
				    .root = -1,
				    .bytes = bytes,
				    .count = bytes / 4};

	row.out_of_place = gt_report_measure(report, &row, 1000000, 0);
	row.in_place = gt_report_measure(report, &row, 2000000, 5);
	return row;
}

/* 1 ms for 10 iterations of 1 MB: 10 GB/s. */
static void test_bandwidths(void **state)
{
	struct gt_report report = {.head = &head};
	struct gt_report_row row = make_row(&report, "allreduce", 1000000);

	(void)state;
	assert_true(row.out_of_place.time_us == 100);
	assert_true(row.out_of_place.algbw_gbs == 10);
	assert_true(row.out_of_place.busbw_gbs == 15);
	assert_true(row.in_place.busbw_gbs == 7.5);
	row = make_row(&report, "allgather", 1000000);
	assert_true(row.out_of_place.busbw_gbs == 7.5);
	row = make_row(&report, "reducescatter", 0);
	assert_true(row.out_of_place.busbw_gbs == 0);
	row.out_of_place = gt_report_measure(&report, &row, 0, 0);
	assert_true(row.out_of_place.algbw_gbs == 0);
}

static void write_all(struct gt_report *report, const char *error)
{
	struct gt_report_row row;

	gt_report_begin(report);
	row = make_row(report, "allreduce", 1000000);
	gt_report_add(report, &row);
	row = make_row(report, "allgather", 0);
	gt_report_add(report, &row);
	gt_report_end(report, error);
}

static void test_text(void **state)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_report report = {
		.head = &head, .writer = &gt_report_text, .out = &out};

	(void)state;
	write_all(&report, NULL);
	assert_non_null(strstr(
		gt_buf_text(&out),
		"\n      1000000        250000    float     sum     -1     "
		"100.0   10.000   15.000       0     200.0    5.000    7.500"
		"       5\n"));
	assert_non_null(strstr(gt_buf_text(&out), "\n# allgather\n"));
	assert_non_null(strstr(gt_buf_text(&out),
			       "\n# Out of bounds values : 10 FAILED\n"
			       "# Avg bus bandwidth    : 11.25\n"));
	gt_buf_release(&out);
}

static void test_colour(void **state)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_report report = {.head = &head,
				   .writer = &gt_report_text,
				   .out = &out,
				   .colour = 1};

	(void)state;
	write_all(&report, NULL);
	assert_non_null(strstr(gt_buf_text(&out),
			       "15.000       0     200.0    5.000    7.500"
			       "\033[1;31m       5\033[0m\n"));
	assert_non_null(
		strstr(gt_buf_text(&out), " : \033[1;31m10 FAILED\033[0m\n"));
	gt_buf_release(&out);
}

static void test_json(void **state)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_report report = {
		.head = &head, .writer = &gt_report_json, .out = &out};

	(void)state;
	write_all(&report, "rank \"3\" stopped");
	assert_non_null(strstr(gt_buf_text(&out), "\"topology\": null"));
	assert_non_null(strstr(
		gt_buf_text(&out),
		"    {\"ranks\": 4, \"coll\": \"allreduce\", \"dtype\": "
		"\"float\", \"op\": \"sum\", \"inplace\": true, \"bytes\": "
		"1000000, \"count\": 250000, \"time_us\": 200, \"algbw_gbs\": "
		"5, \"busbw_gbs\": 7.5, \"wrong\": 5},\n"));
	assert_non_null(strstr(gt_buf_text(&out),
			       "\"wrong\": 10,\n  \"busbw_gbs\": 11.25,\n"
			       "  \"error\": \"rank \\\"3\\\" stopped\"\n}\n"));
	gt_buf_release(&out);
}

/* A limit of thread blocks is said where there is one. */
static void test_max_blocks(void **state)
{
	const struct gt_report_writer *const writers[] = {&gt_report_text,
							  &gt_report_json};
	static const char *const words[] = {
		"3 channels, 1 worker each, at most 16 blocks, 8 slots, ",
		"\n  \"slots\": 8,\n  \"max_blocks\": 16,\n"
		"  \"iters\": 10,\n"};
	struct gt_report_head limited = head;

	(void)state;
	limited.max_blocks = 16;
	for (int i = 0; i < 4; i++) {
		struct gt_buf out = GT_BUF_INIT;
		struct gt_report report = {.head = i < 2 ? &limited : &head,
					   .writer = writers[i % 2],
					   .out = &out};

		write_all(&report, NULL);
		assert_int_equal(
			strstr(gt_buf_text(&out), words[i % 2]) != NULL, i < 2);
		assert_int_equal(strstr(gt_buf_text(&out), "block") != NULL,
				 i < 2);
		gt_buf_release(&out);
	}
}

/* A plan's busbw and a report's are the same unit. */
static void test_same_unit(void **state)
{
	(void)state;
	for (int c = 0; c < GT_NCOLLS; c++)
		for (uint32_t n = 1; n < 20; n++)
			assert_true(gt_coll_busbw_factor((enum gt_coll)c, n) ==
				    gt_report_factor(
					    gt_coll_name((enum gt_coll)c), n));
}

/* Of 200 times 1 ... 200 us in any order, and of one. */
static void test_percentiles(void **state)
{
	struct gt_report_side side = {.wrong = 0};
	int64_t times_ns[200], one = 5000;

	(void)state;
	for (int i = 0; i < 200; i++)
		times_ns[i] = (i * 77 % 200 + 1) * 1000;
	gt_report_percentiles(&side, times_ns, 200);
	assert_true(side.p50_us == 100);
	assert_true(side.p99_us == 198);
	assert_true(side.max_us == 200);
	gt_report_percentiles(&side, &one, 1);
	assert_true(side.p50_us == 5 && side.p99_us == 5 && side.max_us == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_max_blocks),
		cmocka_unit_test(test_bandwidths),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_colour),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_same_unit),
		cmocka_unit_test(test_percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
