/* Errors, arenas, buffers and files: what everything else leans on. */
#include "unit/test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/dtype.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/must.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/word.h"

static void test_err_first_wins(void **state)
{
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_err_set(&err, GT_EINPUT, NULL, "the %s", "cause"),
			 GT_EINPUT);
	assert_int_equal(gt_err_set(&err, GT_ESYS, "x", "later"), GT_EINPUT);
	assert_string_equal(err.text, "the cause");
	gt_err_at(&err, "file:%d", 3);
	gt_err_at(&err, "outer");
	assert_string_equal(err.where, "file:3");
	assert_int_equal(gt_err_set(NULL, GT_ESYS, NULL, "unheard"), GT_ESYS);
}

static void test_err_is_cut(void **state)
{
	struct gt_err err;
	char big[4096];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	gt_err_init(&err);
	gt_err_set(&err, GT_ENO, big, "%s", big);
	assert_int_equal(strlen(err.where), sizeof(err.where) - 1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void test_arena(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	unsigned char *small, *large;

	(void)state;
	assert_non_null(arena);
	for (size_t i = 1; i < 5000; i++) {
		small = gt_arena_alloc(arena, i % 97);
		assert_int_equal((uintptr_t)small % sizeof(long double), 0);
		for (size_t j = 0; j < i % 97; j++)
			assert_int_equal(small[j], 0);
		memset(small, 0xff, i % 97);
	}
	large = gt_arena_alloc(arena, 1 << 20);
	assert_int_equal(large[(1 << 20) - 1], 0);
	assert_null(gt_arena_array(arena, SIZE_MAX / 2, 4));
	assert_null(gt_arena_alloc(arena, SIZE_MAX - 8));
	assert_string_equal(gt_arena_printf(arena, "%d-%s", 7, "x"), "7-x");
	assert_string_equal(gt_arena_strdup(arena, ""), "");
	gt_arena_free(arena);
	gt_arena_free(NULL);
}

static void test_buf(void **state)
{
	struct gt_buf buf = GT_BUF_INIT;

	(void)state;
	assert_string_equal(gt_buf_text(&buf), "");
	for (int i = 0; i < 1000; i++)
		gt_buf_printf(&buf, "%03d,", i);
	assert_int_equal(buf.len, 4000);
	assert_string_equal(gt_buf_text(&buf) + 3996, "999,");
	gt_buf_add(&buf, "\0x", 2);
	assert_int_equal(buf.len, 4002);
	gt_buf_release(&buf);
	assert_int_equal(buf.len, 0);
}

/* A folder of its own, left behind empty and removed. */
static char *make_dir(char path[64])
{
	snprintf(path, 64, "/tmp/gtopo-test.XXXXXX");
	assert_non_null(mkdtemp(path));
	return path;
}

static void test_file_round_trip(void **state)
{
	struct gt_buf buf = GT_BUF_INIT;
	struct gt_err err;
	char dir[64], path[128];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/f", make_dir(dir));
	gt_err_init(&err);
	assert_int_equal(gt_file_write(path, "old", 3, &err), 0);
	assert_int_equal(gt_file_write(path, "a\0b", 3, &err), 0);
	assert_int_equal(gt_file_read(path, 3, &buf, &err), 0);
	assert_memory_equal(buf.text, "a\0b", 3);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0600, 0600);
	gt_buf_release(&buf);
	assert_int_equal(gt_file_read(path, 2, &buf, &err), GT_EINPUT);
	assert_string_equal(err.text, "larger than 2 bytes");
	gt_buf_release(&buf);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void test_file_failures(void **state)
{
	struct gt_buf buf = GT_BUF_INIT;
	struct gt_err err;
	char dir[64], path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/none", make_dir(dir));
	gt_err_init(&err);
	assert_int_equal(gt_file_read(path, 9, &buf, &err), GT_EINPUT);
	assert_string_equal(err.where, path);
	gt_err_init(&err);
	assert_true(gt_file_read(dir, 9, &buf, &err) < 0);
	snprintf(path, sizeof(path), "%s/none/f", dir);
	gt_err_init(&err);
	assert_int_equal(gt_file_write(path, "x", 1, &err), GT_ESYS);
	gt_err_init(&err);
	assert_int_equal(gt_file_write("/dev/full", "x", 1, &err), GT_ESYS);
	gt_buf_release(&buf);
	assert_int_equal(rmdir(dir), 0); /* nothing was left behind */
}

/* A thread next to a device with this list; how many processors it has. */
static int near_cpus(const char *dir, const char *list, int *bound)
{
	char path[256];
	cpu_set_t set, old;

	snprintf(path, sizeof(path), "%s/local_cpulist", dir);
	assert_int_equal(gt_file_write(path, list, strlen(list), NULL), 0);
	sched_getaffinity(0, sizeof(old), &old);
	*bound = gt_cpus_near(pthread_self(), dir);
	sched_getaffinity(0, sizeof(set), &set);
	sched_setaffinity(0, sizeof(old), &old);
	unlink(path);
	return CPU_COUNT(&set);
}

static void test_cpus_near(void **state)
{
	char dir[64], list[64];
	int all = (int)gt_cpus_count(), bound, first = 0;
	cpu_set_t set;

	(void)state;
	make_dir(dir);
	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(first, &set))
		first++;
	assert_int_equal(gt_cpus_near(pthread_self(), dir), 0);
	/* All of them, none of them, nonsense. */
	assert_int_equal(near_cpus(dir, "0-1023\n", &bound), all);
	assert_int_equal(bound, 0);
	assert_int_equal(near_cpus(dir, "1022-1023\n", &bound), all);
	assert_int_equal(bound, 0);
	assert_int_equal(near_cpus(dir, "\n", &bound), all);
	assert_int_equal(near_cpus(dir, "a-b,4294967295-1", &bound), all);
	rmdir(dir);
	if (all == 1) {
		print_message("only one processor: nothing to choose\n");
		skip();
	}
	make_dir(dir);
	snprintf(list, sizeof(list), "1023,%d-%d\n", first, first);
	assert_int_equal(near_cpus(dir, list, &bound), 1);
	assert_int_equal(bound, 1);
	rmdir(dir);
}

/* A visitor is where it wants to be, and tied to nothing. */
static void test_cpus_visit(void **state)
{
	uint32_t all = gt_cpus_count();
	cpu_set_t before, after;

	(void)state;
	if (all == 1) {
		print_message("only one processor: nothing to choose\n");
		skip();
	}
	sched_getaffinity(0, sizeof(before), &before);
	for (int tries = 0, moved = 0; !moved; tries++) {
		assert_true(tries < 100);
		/* Unless it is moved on in between. */
		moved = gt_cpus_visit(0) + gt_cpus_visit(1) == 2 ||
			gt_cpus_visit(all) + gt_cpus_visit(all + 1) == 2;
		sched_getaffinity(0, sizeof(after), &after);
		assert_true(CPU_EQUAL(&before, &after));
	}
	for (int tries = 0; gt_cpus_visit(1); tries++)
		assert_true(tries < 100);
}

/* Items stay while the array moves, on the heap and in an arena. */
static void test_vec(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	uint32_t *heap = NULL, *inside = NULL, heap_room = 0, inside_room = 0;
	uint32_t full = UINT32_MAX;

	(void)state;
	for (uint32_t n = 0; n < 1000; n++) {
		heap = gt_vec_grow(heap, n, &heap_room, sizeof(*heap));
		inside = gt_vec_grow_in(arena, inside, n, &inside_room,
					sizeof(*inside));
		assert_true(heap && inside && n < heap_room && n < inside_room);
		heap[n] = inside[n] = 3 * n;
	}
	for (uint32_t n = 0; n < 1000; n++)
		assert_true(heap[n] == 3 * n && inside[n] == 3 * n);
	assert_null(gt_vec_grow(heap, full, &full, sizeof(*heap)));
	assert_int_equal(full, UINT32_MAX);
	free(heap);
	gt_arena_free(arena);
}

static void test_json_writer(void **state)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_json_writer json;

	(void)state;
	gt_json_begin(&json, &out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "a \"name\"", "line\nline");
	gt_json_open_array(&json, "none", GT_JSON_LINES);
	gt_json_end(&json);
	gt_json_open_array(&json, "flat", GT_JSON_FLAT);
	gt_json_put_int(&json, NULL, -7);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_double(&json, "gbs", "%.6g", 0.25);
	gt_json_put_bool(&json, "up", 1);
	gt_json_end(&json);
	gt_json_end(&json);
	gt_json_open_array(&json, "lines", GT_JSON_LINES);
	gt_json_put_null(&json, NULL);
	gt_json_put_bool(&json, NULL, 0);
	gt_json_put_double(&json, NULL, "%.6g", (double)INFINITY);
	gt_json_put_double(&json, NULL, "%.6g", (double)-INFINITY);
	gt_json_put_double(&json, NULL, "%.6g", (double)NAN);
	gt_json_end(&json);
	gt_json_end(&json);
	assert_string_equal(gt_buf_text(&out),
			    "{\n"
			    "  \"a \\\"name\\\"\": \"line\\u000aline\",\n"
			    "  \"none\": [],\n"
			    "  \"flat\": [-7, {\"gbs\": 0.25, \"up\": true}],\n"
			    "  \"lines\": [\n    null,\n    false,\n"
			    "    null,\n    null,\n    null\n  ]\n}");
	gt_buf_release(&out);
}

/* Containers too deep are a failure of the text, not of memory. */
static void test_json_writer_depth(void **state)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_json_writer json;

	(void)state;
	gt_json_begin(&json, &out);
	for (int i = 0; i <= GT_JSON_WRITER_DEPTH; i++)
		gt_json_open_array(&json, NULL, GT_JSON_FLAT);
	assert_true(out.failed);
	for (int i = 0; i <= GT_JSON_WRITER_DEPTH; i++)
		gt_json_end(&json);
	assert_null(gt_buf_text(&out));
	gt_buf_release(&out);
}

static void test_word(void **state)
{
	static const char *const meant[] = {"reducescatter",  "ReduceScatter",
					    "reduce_scatter", "REDUCE-SCATTER",
					    "reduce scatter", "reducescatter_"};
	static const char *const others[] = {"", "reduce", "reducescatters",
					     "-", "reduce.scatter"};

	(void)state;
	for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
		assert_true(gt_word_is("reducescatter", meant[i]));
		assert_true(gt_word_is(meant[i], "reducescatter"));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(gt_word_is("reducescatter", others[i]));
	assert_true(gt_word_is("", "-_"));
	assert_int_equal(gt_dtype_find("FP8-E4M3"), GT_DTYPE_FP8_E4M3);
	assert_int_equal(gt_dtype_find("float32"), GT_DTYPE_FLOAT);
	assert_int_equal(gt_dtype_find("float3"), -1);
	assert_int_equal(gt_redop_find("Sum"), GT_REDOP_SUM);
	assert_int_equal(gt_redop_find("xor"), -1);
}

static void test_utf8(void **state)
{
	static const char *const good[] = {"",
					   "a",
					   "\xc2\x80",
					   "\xe0\xa0\x80",
					   "\xed\x9f\xbf",
					   "\xee\x80\x80",
					   "\xf0\x90\x80\x80",
					   "\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\x80",
					  "\xc0\x80",
					  "\xc1\xbf",
					  "\xe0\x9f\xbf",
					  "\xed\xa0\x80",
					  "\xf0\x8f\xbf\xbf",
					  "\xf4\x90\x80\x80",
					  "\xf8\x88\x80\x80\x80",
					  "\xff",
					  "a\xc3",
					  "\xe2\x82"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(gt_utf8_is_valid(good[i]));
		assert_int_equal(gt_utf8_char(good[i]), strlen(good[i]));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(gt_utf8_is_valid(bad[i]));
}

/* What does not hold is said, with its place, and ends the process. */
static void test_must(void **unused)
{
	char said[256] = "";
	int ends[2], status;
	ssize_t len;
	pid_t child;

	(void)unused;
	GT_MUST(1 + 1 == 2);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		GT_MUST(1 + 1 == 3);
		_exit(0);
	}
	close(ends[1]);
	len = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	assert_true(len > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(said, "test_base.c:"));
	assert_non_null(strstr(said, "this must hold: 1 + 1 == 3"));
}

static void test_clock_timespec(void **state)
{
	static const int64_t times[] = {0, 1, 999999999, 1000000000, INT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct timespec at = gt_clock_timespec(times[i]);

		assert_in_range(at.tv_nsec, 0, 999999999);
		assert_int_equal(at.tv_sec, times[i] / 1000000000);
		assert_int_equal(at.tv_sec * 1000000000 + at.tv_nsec, times[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_must),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_err_first_wins),
		cmocka_unit_test(test_err_is_cut),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_file_round_trip),
		cmocka_unit_test(test_file_failures),
		cmocka_unit_test(test_cpus_near),
		cmocka_unit_test(test_cpus_visit),
		cmocka_unit_test(test_clock_timespec),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_json_writer),
		cmocka_unit_test(test_json_writer_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
