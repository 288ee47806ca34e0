/* What a parent says of its processes. */
#include "unit/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "world/children.h"

enum { CHILDREN = 10 };

/* Fork what ends as a letter says: k: of SIGKILL, s: never, 0 to 3: with it. */
static void family_start(struct gt_children *job, struct gt_child *children,
			 const char *ends)
{
	memset(children, 0, CHILDREN * sizeof(*children));
	*job = (struct gt_children){.children = children,
				    .size = (uint32_t)strlen(ends)};
	gt_children_block(job);
	fflush(NULL);
	for (uint32_t r = 0; r < job->size; r++) {
		children[r].pid = fork();
		assert_true(children[r].pid >= 0);
		if (children[r].pid)
			continue;
		if (ends[r] == 'k')
			kill(getpid(), SIGKILL);
		while (ends[r] == 's')
			pause();
		_exit(ends[r] - '0');
	}
}

/* What is said, and the code. */
static int family_wait(const char *ends, struct gt_child *children,
		       struct gt_err *err)
{
	struct gt_children job;
	int rc;

	family_start(&job, children, ends);
	gt_err_init(err);
	rc = gt_children_wait(&job, err);
	gt_children_unblock(&job);
	return rc;
}

static void test_dead_and_killed_are_told_apart(void **state)
{
	struct gt_child children[CHILDREN];
	struct gt_err err;
	char expect[256];

	(void)state;
	assert_int_equal(family_wait("k0sks", children, &err), GT_ESYS);
	snprintf(expect, sizeof(expect),
		 "ended by a signal: process 0 (pid %d, signal 9), process 3 "
		 "(pid %d, signal 9); killed, 2.0 s after the first failure: "
		 "process 2 (pid %d), process 4 (pid %d)",
		 (int)children[0].pid, (int)children[3].pid,
		 (int)children[2].pid, (int)children[4].pid);
	assert_string_equal(err.text, expect);
}

static void test_many_are_counted(void **state)
{
	struct gt_child children[CHILDREN];
	struct gt_err err;

	(void)state;
	assert_int_equal(family_wait("kkkkkkkkkk", children, &err), GT_ESYS);
	assert_non_null(strstr(err.text, "process 7 ("));
	assert_null(strstr(err.text, "process 8 ("));
	assert_non_null(strstr(err.text, ") and 2 more"));
}

/* Who exits has said itself why; the highest status counts. */
static void test_exits_are_not_told(void **state)
{
	struct gt_child children[CHILDREN];
	struct gt_err err;

	(void)state;
	assert_int_equal(family_wait("000", children, &err), 0);
	assert_int_equal(family_wait("020", children, &err), GT_EINPUT);
	assert_int_equal(family_wait("0232", children, &err), GT_ESYS);
	assert_string_equal(err.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_and_killed_are_told_apart),
		cmocka_unit_test(test_many_are_counted),
		cmocka_unit_test(test_exits_are_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
