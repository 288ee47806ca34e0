/*
 * Any bytes as a plan: read, print and read again, check, lower, simulate.
 * Nothing may crash, and what is printed is read as the same plan.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct gt_plan *plan;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_plan_parse("fuzz", (const char *)bytes, len, &plan, &err)) {
		if (!err.text[0] || strchr(err.text, '\n'))
			abort();
		return 0;
	}
	round_trip(plan);
	if (!gt_plan_check(plan, &err))
		gt_simulate(plan, plan->coll, &err);
	gt_plan_free(plan);
	return 0;
}
