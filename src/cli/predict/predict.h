/*
 * The rows of `gtopo predict`: how long a plan's collective takes, size by
 * size, as text or as JSON.
 */
#ifndef GT_CLI_PREDICT_PREDICT_H
#define GT_CLI_PREDICT_PREDICT_H

#include <stdint.h>

#include "plan/ir/plan.h"

struct gt_buf;
struct gt_err;

struct gt_prediction {
	const struct gt_plan *plan; /* has passed gt_plan_check() */
	enum gt_coll coll;
	uint64_t begin_bytes, end_bytes;
	uint64_t factor; /* from one size to the next, above 1 */
	/*
	 * A file of alpha, beta and gamma as bench/fit prints them, or NULL;
	 * with one, times that the plan has measured are not told.
	 */
	const char *params;
	/* The machine by which the plan was staged (staged.h), or NULL. */
	const char *machine;
	uint32_t apart; /* pairs that lack access there */
	int json;
};

/*
 * Append all rows; GT_EINPUT when the plan cannot do the collective.  Of blocks
 * that differ a row's size is what the rank with most sends or gets.
 */
int gt_predict(const struct gt_prediction *ask, struct gt_buf *out,
	       struct gt_err *err);

/*
 * Append the rows of the plan's own collective from 1 KiB to 1 GiB as JSON, for
 * commands that show or compare them.
 */
int gt_predict_own(const struct gt_plan *plan, struct gt_buf *out,
		   struct gt_err *err);

#endif
