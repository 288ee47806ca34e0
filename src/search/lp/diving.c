/*
 * The dive: columns are fixed at whole numbers one after the other, and the
 * program is solved again after each.
 */
#include "search/lp/diving.h"

#include <math.h>

#include "base/err.h"
#include "search/lp/lp.h"

/*
 * A float this close to a whole number is one; so many steps may be taken back.
 */
#define GT_DIVING_EPS 1e-6
enum { GT_DIVING_BACK = 12, GT_DIVING_NONE = UINT32_MAX };

static double gt_diving_floor(double value)
{
	return floor(value + GT_DIVING_EPS);
}

int64_t gt_diving_count(const struct gt_diving *dive, uint32_t column)
{
	return (int64_t)gt_diving_floor(gt_lp_values(dive->lp)[column]);
}

/*
 * Keep whole numbers that columns have reached; returns the column with the
 * largest fraction.
 */
static uint32_t gt_diving_fix(const struct gt_diving *dive)
{
	const double *values = gt_lp_values(dive->lp);
	uint32_t most = GT_DIVING_NONE;
	double best = GT_DIVING_EPS;

	for (uint32_t i = dive->first; i < gt_lp_ncolumns(dive->lp); i++) {
		double whole = gt_diving_floor(values[i]);
		double rest = values[i] - whole;

		gt_lp_raise_lower(dive->lp, i, whole);
		if (rest > best) {
			best = rest;
			most = i;
		}
	}
	return most;
}

int gt_diving(const struct gt_diving *dive, struct gt_err *err)
{
	uint32_t forced = GT_DIVING_NONE, back = 0;
	double whole = 0;
	int rc;

	for (;;) {
		rc = dive->solve(dive->arg, err);
		if (rc == GT_ENO && forced != GT_DIVING_NONE &&
		    back++ < GT_DIVING_BACK) {
			gt_lp_set_bounds(dive->lp, forced, whole, whole);
			forced = GT_DIVING_NONE;
			continue;
		}
		if (rc)
			return rc;
		forced = gt_diving_fix(dive);
		if (forced == GT_DIVING_NONE)
			return GT_OK;
		whole = gt_diving_floor(gt_lp_values(dive->lp)[forced]);
		gt_lp_set_bounds(dive->lp, forced, whole + 1, HUGE_VAL);
	}
}
