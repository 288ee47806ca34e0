/* What the files of the plan's printer share; gt_plan_print() is the way in. */
#ifndef GT_PLAN_JSON_PRINT_H
#define GT_PLAN_JSON_PRINT_H

struct gt_buf;
struct gt_plan;

/* The member "programs", if there are any, with the comma before it. */
void gt_print_programs(const struct gt_plan *plan, struct gt_buf *out);

/* The member "select", and "measurements" if there are any, likewise. */
void gt_print_select(const struct gt_plan *plan, struct gt_buf *out);
void gt_print_measurements(const struct gt_plan *plan, struct gt_buf *out);

#endif
