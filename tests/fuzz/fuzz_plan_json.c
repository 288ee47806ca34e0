/*
 * Any bytes as a plan: read, print and read again, check, lower, simulate.
 * Nothing may crash, and what is printed is read as the same plan.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

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
