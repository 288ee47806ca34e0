/* A plan as JSON; gtopo-plan(5) explains the format. */
#ifndef GT_PLAN_JSON_PRINT_H
#define GT_PLAN_JSON_PRINT_H

struct gt_buf;
struct gt_err;
struct gt_plan;

/* Append the plan, in canonical key order, ending in a newline. */
int gt_plan_print(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err);

#endif
