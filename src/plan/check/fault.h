/* The fault that a check finds in a plan, and the place where it is. */
#ifndef GT_PLAN_CHECK_FAULT_H
#define GT_PLAN_CHECK_FAULT_H

struct gt_err;
struct gt_plan;

/* The JSON path of a value in the plan, formatted as by printf(). */
struct gt_plan_at {
	char text[96];
};
struct gt_plan_at gt_plan_at(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Record that the plan is wrong at the place `at`; the result is GT_ENO. */
int gt_plan_wrong(const struct gt_plan *plan, struct gt_plan_at at,
		  struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
