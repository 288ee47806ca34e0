/* A packing's columns, left out one by one while the value stays. */
#include "search/lp/fewer_columns.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "search/lp/lp.h"

/* A part of the value that counts as nothing, in floats. */
#define GT_FEWER_EPS 1e-9

/*
 * Does the sum of columns, each of which gains 1, still reach the value?  The
 * program is solved anew.
 */
static int reaches(struct gt_lp *lp, double value)
{
	double sum = 0;

	if (gt_lp_solve(lp))
		return 0;
	for (uint32_t i = 0; i < gt_lp_ncolumns(lp); i++)
		sum += gt_lp_values(lp)[i];
	return sum >= value * (1 - GT_FEWER_EPS);
}

int gt_lp_do_without(struct gt_lp *lp, uint32_t first, uint32_t last,
		     double value)
{
	for (uint32_t i = first; i <= last; i++)
		gt_lp_set_bounds(lp, i, 0, 0);
	if (reaches(lp, value))
		return 1;
	for (uint32_t i = first; i <= last; i++)
		gt_lp_set_bounds(lp, i, 0, HUGE_VAL);
	return 0;
}

/* The smallest column in use that was not tried yet, or their number. */
static uint32_t smallest(const struct gt_lp *lp, const uint8_t *tried,
			 double value)
{
	uint32_t n = gt_lp_ncolumns(lp), least = n;
	const double *at = gt_lp_values(lp);

	for (uint32_t i = 0; i < n; i++)
		if (!tried[i] && at[i] > value * GT_FEWER_EPS &&
		    (least == n || at[i] < at[least]))
			least = i;
	return least;
}

int gt_lp_fewer_columns(struct gt_lp *lp, double value)
{
	uint32_t n = gt_lp_ncolumns(lp), i;
	uint8_t *tried = calloc(n + (size_t)1, 1);
	int rc = tried ? GT_OK : GT_ESYS;

	if (!rc && !reaches(lp, value))
		rc = GT_ENO;
	while (!rc && (i = smallest(lp, tried, value)) < n) {
		tried[i] = 1;
		if (!gt_lp_do_without(lp, i, i, value) && !reaches(lp, value))
			rc = GT_ENO;
	}
	free(tried);
	return rc;
}
