/*
 * The plans of tests/cases/plan/good, by their folder's name.
 */
#ifndef GT_TESTS_UNIT_GOOD_PLAN_H
#define GT_TESTS_UNIT_GOOD_PLAN_H

#include "unit/test.h"

#include <dirent.h>

#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

static inline struct gt_plan *good_plan(const char *name)
{
	char path[4096], file[256];
	struct gt_plan *plan;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(file, sizeof(file), "tests/cases/plan/good/%s/plan.json",
		 name);
	assert_int_equal(gt_plan_read(gt_test_path(path, file), &plan, &err),
			 GT_OK);
	assert_int_equal(gt_plan_check(plan, &err), GT_OK);
	return plan;
}

/* Calls check with each plan.json of tests/cases/plan/good. */
static inline void each_good_plan(void (*check)(const char *name,
						const char *path))
{
	char dir[4096], path[8192];
	struct dirent *entry;
	DIR *cases = opendir(gt_test_path(dir, "tests/cases/plan/good"));
	int n = 0;

	assert_non_null(cases);
	while ((entry = readdir(cases))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/plan.json", dir,
			 entry->d_name);
		check(entry->d_name, path);
		n++;
	}
	closedir(cases);
	assert_true(n > 40);
}

#endif
