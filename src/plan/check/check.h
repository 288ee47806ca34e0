/*
 * Static validity of a plan, down to the proof of its bound.  This is the way
 * in; the stages are in the other files of this folder.
 */
#ifndef GT_PLAN_CHECK_CHECK_H
#define GT_PLAN_CHECK_CHECK_H

#include "plan/check/report.h"

struct gt_err;
struct gt_plan;

/*
 * Orders are permutations, shares sum to 1, hops match the order, routes exist,
 * link loads are within capacities, values add up, the proof's certificate
 * proves its bound, FIFO and select make sense.  GT_ENO with the JSON path when
 * the plan is wrong.
 */
int gt_plan_check(const struct gt_plan *plan, struct gt_err *err);

/*
 * Check as gt_plan_check() does; *report says how far the bounds could be
 * proven.
 */
int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err);

#endif
