/*
 * A plan's measurements say how long a use of its channels takes, and which
 * rows of select follow from it.
 */
#ifndef GT_PLAN_IR_MEASURED_H
#define GT_PLAN_IR_MEASURED_H

#include <stdint.h>

struct gt_err;
struct gt_plan;
struct gt_plan_measured;
struct gt_plan_select;

/* Are two uses the same but for their limits of size? */
int gt_plan_measured_same(const struct gt_plan_select *a,
			  const struct gt_plan_select *b);

/* The measurement of a row's use, or NULL. */
const struct gt_plan_measured *gt_plan_measured_find(
	const struct gt_plan *plan, const struct gt_plan_select *use);

/*
 * The time of a measured use at a size, in microseconds.  Between two sizes
 * that were measured it is a power of the size; below the first and above the
 * last it is INFINITY.
 */
double gt_plan_measured_time(const struct gt_plan_measured *measured,
			     uint64_t bytes);

/*
 * Rewrite `select`: each collective with measurements gets the rows that they
 * make the quickest, other collectives keep theirs.  The last row of the plan's
 * own collective keeps the channels and the algorithm that its proof is about,
 * if only for messages larger than any buffer where something else is quicker.
 * The plan must have passed gt_plan_check().  GT_ESYS when memory ran out.
 */
int gt_plan_measured_select(struct gt_plan *plan, struct gt_err *err);

#endif
