#include "unit/test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"

struct values {
	int flag;
	const char *text;
	int word;
	int64_t number;
	int64_t free_number;
	uint64_t bytes;
	int64_t time_ns;
};

static const struct gt_opt opts[] = {
	{GT_OPT_FLAG, 'f', "flag", NULL, offsetof(struct values, flag), "", 0,
	 0},
	{GT_OPT_TEXT, 't', "text", "NAME", offsetof(struct values, text), "", 0,
	 0},
	{GT_OPT_WORD, 0, "word", "ring|tree|mesh",
	 offsetof(struct values, word), "", 0, 0},
	{GT_OPT_INT, 'n', "number", "N", offsetof(struct values, number), "", 1,
	 9},
	GT_OPT_END,
};

static const struct gt_opt more[] = {
	{GT_OPT_INT, 0, "free", "N", offsetof(struct values, free_number), "",
	 0, 0},
	{GT_OPT_BYTES, 'b', "bytes", "SIZE", offsetof(struct values, bytes), "",
	 0, 0},
	{GT_OPT_TIME, 0, "time", "TIME", offsetof(struct values, time_ns), "",
	 0, 0},
	GT_OPT_END,
};

enum { MAX_WORDS = 16 };

/* Splits a line at blanks, parses it, leaves operands in argv. */
static int parse(const char *line, struct values *values, char **argv,
		 struct gt_err *err)
{
	static char words[256];
	struct gt_opt_set sets[2] = {{opts, values}, {more, values}};
	int argc = 0, n = -1, rc;

	memset(values, 0, sizeof(*values));
	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	gt_err_init(err);
	rc = gt_opt_parse(sets, argc, argv, &n, err);
	return rc ? rc : n;
}

static void test_forms(void **state)
{
	static const char *const lines[] = {
		"-f --text x --number 3 --bytes 64K",
		"--flag --text=x --number=3 --bytes=64K",
		"-ft x -n 3 -b 64K",
		"-ftx -n3 -b64K",
		"-t y -tx -n 4 -n3 --bytes 1 -b64K -f",
	};
	struct values v;
	struct gt_err err;
	char *argv[MAX_WORDS];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(lines[i], &v, argv, &err), 0);
		assert_int_equal(v.flag, 1);
		assert_string_equal(v.text, "x");
		assert_int_equal(v.number, 3);
		assert_int_equal(v.bytes, 65536);
	}
}

static void test_types(void **state)
{
	struct values v;
	struct gt_err err;
	char *argv[MAX_WORDS];

	(void)state;
	assert_int_equal(
		parse("--word mesh --time 500ms --free -12", &v, argv, &err),
		0);
	assert_int_equal(v.word, 2);
	assert_int_equal(v.time_ns, 500000000);
	assert_int_equal(v.free_number, -12);
}

static void test_operands(void **state)
{
	struct values v;
	struct gt_err err;
	char *argv[MAX_WORDS];

	(void)state;
	assert_int_equal(parse("a -f - b -- -n --", &v, argv, &err), 5);
	assert_string_equal(argv[0], "a");
	assert_string_equal(argv[1], "-");
	assert_string_equal(argv[2], "b");
	assert_string_equal(argv[3], "-n");
	assert_string_equal(argv[4], "--");
	assert_int_equal(v.flag, 1);
}

static void test_complaints(void **state)
{
	static const struct {
		const char *line, *text;
	} cases[] = {
		{"--flag=1", "--flag takes no value"},
		{"--text", "--text needs NAME"},
		{"-n", "-n needs N"},
		{"--txet x", "'--txet' is not an option; did you mean "
			     "'--text'?"},
		{"--tim=1", "'--tim' is not an option; did you mean "
			    "'--time'?"},
		{"-fx", "'-x' is not an option; see --help"},
		{"--word rin",
		 "--word 'rin' is not one of ring|tree|mesh; did you "
		 "mean 'ring'?"},
		{"-n 10", "--number '10' is not a whole number from 1 to 9"},
		{"-n x", "--number 'x' is not a whole number from 1 to 9"},
		{"--free 1.5", "--free '1.5' is not a whole number"},
		{"-b 1X", "--bytes '1X' is not a size such as 4096, 64K or "
			  "1G"},
		{"--time soon", "--time 'soon' is not a time such as 30s, "
				"500ms or 2m"},
	};
	struct values v;
	struct gt_err err;
	char *argv[MAX_WORDS];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line, &v, argv, &err),
				 GT_EINPUT);
		assert_string_equal(err.text, cases[i].text);
	}
}

static void test_usage(void **state)
{
	struct gt_buf text = GT_BUF_INIT;

	(void)state;
	gt_opt_usage(opts, &text);
	gt_opt_usage(NULL, &text);
	assert_string_equal(gt_buf_text(&text),
			    " [-f] [-t NAME] [--word ring|tree|mesh] [-n N]");
	gt_buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
