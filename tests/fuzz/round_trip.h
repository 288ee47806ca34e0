/* What is printed of a plan is read as the same plan. */
#ifndef GT_FUZZ_ROUND_TRIP_H
#define GT_FUZZ_ROUND_TRIP_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

static void round_trip(const struct gt_plan *plan)
{
	struct gt_buf once = GT_BUF_INIT, again = GT_BUF_INIT;
	struct gt_plan *read;

	if (gt_plan_print(plan, &once, NULL) ||
	    gt_plan_parse("again", once.text, once.len, &read, NULL) ||
	    gt_plan_print(read, &again, NULL) || strcmp(once.text, again.text))
		abort();
	gt_plan_free(read);
	gt_buf_release(&once);
	gt_buf_release(&again);
}

#endif
