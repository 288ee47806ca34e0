/*
 * How every check of a plan words what is wrong: the plan's file, the JSON
 * path of the value, and the fault.
 */
#include "plan/check/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "plan/ir/plan.h"

struct gt_plan_at gt_plan_at(const char *fmt, ...)
{
	struct gt_plan_at at;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(at.text, sizeof(at.text), fmt, ap);
	va_end(ap);
	return at;
}

int gt_plan_wrong(const struct gt_plan *plan, struct gt_plan_at at,
		  struct gt_err *err, const char *fmt, ...)
{
	char where[512], text[1024];
	va_list ap;

	snprintf(where, sizeof(where), "%s%s%s", plan->file ? plan->file : "",
		 plan->file ? ": " : "", at.text);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gt_err_set(err, GT_ENO, where, "%s", text);
}
