/*
 * Measurements in a plan: each is of a use that can be run, at ascending sizes,
 * with times above 0, and no use is there twice for one machine.
 */
#include "plan/check/stages.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/use.h"
#include "plan/ir/measured.h"
#include "plan/ir/plan.h"

enum { GT_MAX_MEASUREMENTS = 1024, GT_MAX_POINTS = 1024 };

/*
 * A machine's name has no control characters, so that it stands on one line in
 * messages and tables.
 */
static int gt_machine_is_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return 0;
	return name[0] != '\0';
}

static int gt_check_points(const struct gt_plan *plan, uint32_t index,
			   struct gt_err *err)
{
	const struct gt_plan_measured *measured = &plan->measured[index];

	if (!measured->npoints || measured->npoints > GT_MAX_POINTS)
		return gt_plan_wrong(
			plan, gt_plan_at("measurements[%u].bytes", index), err,
			"there are %u sizes, not 1 to %d", measured->npoints,
			GT_MAX_POINTS);
	for (uint32_t i = 0; i < measured->npoints; i++) {
		if (i && measured->bytes[i] <= measured->bytes[i - 1])
			return gt_plan_wrong(
				plan,
				gt_plan_at("measurements[%u].bytes[%u]", index,
					   i),
				err, "does not come after the size before");
		if (!(measured->time_us[i] > 0) ||
		    !isfinite(measured->time_us[i]))
			return gt_plan_wrong(
				plan,
				gt_plan_at("measurements[%u].time_us[%u]",
					   index, i),
				err, "is not above 0");
	}
	return GT_OK;
}

/*
 * A use has one time for each size on a machine, so it must not be measured
 * twice.
 */
static int gt_check_once(const struct gt_plan *plan, uint32_t index,
			 struct gt_err *err)
{
	const struct gt_plan_measured *measured = &plan->measured[index];

	for (uint32_t i = 0; i < index; i++)
		if (gt_plan_measured_same(&measured->use,
					  &plan->measured[i].use))
			return gt_plan_wrong(
				plan, gt_plan_at("measurements[%u]", index),
				err, "is of the same use as measurements[%u]",
				i);
	return GT_OK;
}

static int gt_check_measured(const struct gt_plan *plan, uint32_t index,
			     uint32_t *seen, struct gt_err *err)
{
	const struct gt_plan_measured *measured = &plan->measured[index];
	const struct gt_use_check check = {plan, &measured->use, "measurements",
					   index, seen};
	int rc;

	if (!gt_machine_is_name(measured->machine))
		return gt_plan_wrong(
			plan, gt_plan_at("measurements[%u].machine", index),
			err, "is no name");
	rc = gt_check_use(&check, err);
	if (!rc)
		rc = gt_check_use_purpose(&check, err);
	if (!rc)
		rc = gt_check_once(plan, index, err);
	return rc ? rc : gt_check_points(plan, index, err);
}

int gt_check_measurements(const struct gt_plan *plan, struct gt_err *err)
{
	uint32_t *seen;
	int rc = GT_OK;

	if (plan->nmeasured > GT_MAX_MEASUREMENTS)
		return gt_plan_wrong(plan, gt_plan_at("measurements"), err,
				     "there are %u, more than %d",
				     plan->nmeasured, GT_MAX_MEASUREMENTS);
	seen = calloc(plan->nchannels, sizeof(*seen));
	if (!seen)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < plan->nmeasured && !rc; i++)
		rc = gt_check_measured(plan, i, seen, err);
	free(seen);
	return rc;
}
