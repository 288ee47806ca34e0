/*
 * What every unit test includes: cmocka, and the way to files.
 *
 * A test case that cannot run prints why and calls skip(); the reason is
 * the last line printed before it.
 */
#ifndef GT_TESTS_UNIT_TEST_H
#define GT_TESTS_UNIT_TEST_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>

/* The collectives that stand first in enum gt_coll: those of every ring. */
enum { TEST_NCOLLS = 3 };

/* "tests/cases/..." under the sources, in a buffer of the caller. */
static inline const char *gt_test_path(char path[4096], const char *name)
{
	const char *src = getenv("GTOPO_SRC");

	snprintf(path, 4096, "%s/%s", src ? src : ".", name);
	return path;
}

/*
 * Are fewer repetitions enough, since all were run without sanitizers?  What is
 * left out must repeat the same code with other numbers.
 */
static inline int gt_test_is_brief(void)
{
	const char *brief = getenv("GTOPO_TEST_BRIEF");

	return brief && *brief;
}

/* The folder of real topologies; skips the case when there is none. */
static inline const char *gt_test_topologies(void)
{
	const char *dir = getenv("GTOPO_TEST_TOPOLOGIES");

	if (!dir || !*dir) {
		print_message("GTOPO_TEST_TOPOLOGIES is unset\n");
		skip();
	}
	return dir;
}

#endif
