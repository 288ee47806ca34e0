/*
 * The way in: gt_plan_check() runs the stages in order.  What belongs to no
 * stage is here: ids of channels, and the table of select as a whole.
 */
#include "plan/check/check.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/err.h"
#include "plan/check/cluster.h"
#include "plan/check/fault.h"
#include "plan/check/stages.h"
#include "plan/check/use.h"
#include "plan/ir/plan.h"

enum { GT_MAX_ROWS = 256 };

/*
 * Rows of one collective ascend in size.  limits[coll] is 1 + max_bytes of the
 * row before of that collective, 0 when there was none, and UINT64_MAX after a
 * row without a limit.
 */
static int gt_check_limit(const struct gt_plan *plan, uint32_t row,
			  uint64_t *limits, struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	struct gt_plan_at at = gt_plan_at("select[%u].max_bytes", row);
	uint64_t *limit = &limits[select->coll];

	if (*limit == UINT64_MAX)
		return gt_plan_wrong(plan, at, err,
				     "comes after the row of '%s' without a "
				     "limit (null)",
				     gt_coll_name(select->coll));
	if (*limit && select->max_bytes <= *limit - 1)
		return gt_plan_wrong(plan, at, err,
				     "does not come after the row before");
	*limit = select->max_bytes == UINT64_MAX ? UINT64_MAX
						 : select->max_bytes + 1;
	return GT_OK;
}

static int gt_check_row(const struct gt_plan *plan, uint32_t row,
			uint64_t *limits, uint32_t *seen, struct gt_err *err)
{
	const struct gt_use_check check = {plan, &plan->select[row], "select",
					   row, seen};
	int rc = gt_check_limit(plan, row, limits, err);

	return rc ? rc : gt_check_use(&check, err);
}

/*
 * Every collective in the table ends with a row that has no limit, and the
 * plan's own collective is in it.
 */
static int gt_check_limits(const struct gt_plan *plan, const uint64_t *limits,
			   struct gt_err *err)
{
	for (int coll = 0; coll < GT_NCOLLS; coll++)
		if (limits[coll] != UINT64_MAX &&
		    (limits[coll] || coll == (int)plan->coll))
			return gt_plan_wrong(plan, gt_plan_at("select"), err,
					     "has no row of '%s' without a "
					     "limit (null)",
					     gt_coll_name((enum gt_coll)coll));
	return GT_OK;
}

static int gt_check_select(const struct gt_plan *plan, struct gt_err *err)
{
	uint32_t *seen = calloc(plan->nchannels, sizeof(*seen));
	uint64_t limits[GT_NCOLLS] = {0};
	int rc = GT_OK;

	if (!seen)
		return gt_err_nomem(err);
	if (!plan->nselect || plan->nselect > GT_MAX_ROWS)
		rc = gt_plan_wrong(plan, gt_plan_at("select"), err,
				   "there are %u rows, not 1 to %d",
				   plan->nselect, GT_MAX_ROWS);
	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = gt_check_row(plan, i, limits, seen, err);
	if (!rc)
		rc = gt_check_limits(plan, limits, err);
	free(seen);
	return rc;
}

/* Ids are how people and files call channels, so each is used once. */
static int gt_id_cmp(const void *a, const void *b)
{
	const struct gt_plan_channel *const *left = a, *const *right = b;

	return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

static int gt_check_ids(const struct gt_plan *plan, struct gt_err *err)
{
	uint32_t n = plan->nchannels;
	const struct gt_plan_channel **sorted = calloc(n, sizeof(*sorted));
	int rc = GT_OK;

	if (!sorted)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = &plan->channels[i];
	qsort(sorted, n, sizeof(*sorted), gt_id_cmp);
	for (uint32_t i = 1; i < n && !rc; i++)
		if (sorted[i]->id == sorted[i - 1]->id)
			rc = gt_plan_wrong(
				plan,
				gt_plan_at(
					"channels[%u].id",
					(uint32_t)(sorted[i] - plan->channels)),
				err, "'%u' is also that of channels[%u]",
				sorted[i]->id,
				(uint32_t)(sorted[i - 1] - plan->channels));
	free(sorted);
	return rc;
}

/*
 * What bounds any schedule bounds those of a class.  To be optimal is no claim
 * to make without a certificate; where nothing moves there is nothing to prove.
 */
static int gt_check_optimal(const struct gt_plan *plan,
			    struct gt_plan_report *report, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (!plan->has_proof || report->bound != GT_BOUND_ABSENT)
		return GT_OK;
	if (proof->has_any_bound &&
	    gt_rat_cmp(proof->any_bound, proof->bound) <= 0)
		report->bound = report->any_bound;
	if (report->bound != GT_BOUND_ABSENT || !proof->optimal ||
	    plan->nranks < 2)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.optimal"), err,
			     "is true, but no certificate proves the bound");
}

int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err)
{
	int rc = gt_check_fifo(plan, err);

	if (!rc && plan->demand)
		rc = gt_check_demand(plan, err);
	if (!rc)
		rc = plan->cluster ? gt_check_templates(plan, err)
				   : gt_check_channels(plan, err);
	if (!rc)
		rc = gt_check_ids(plan, err);
	if (!rc)
		rc = gt_check_programs(plan, err);
	if (!rc)
		rc = gt_check_select(plan, err);
	if (!rc)
		rc = gt_check_shares(plan, err);
	if (!rc)
		rc = plan->cluster ? gt_check_cluster_loads(plan, err)
				   : gt_check_loads(plan, err);
	if (!rc)
		rc = gt_check_measurements(plan, err);
	if (rc)
		return rc;
	rc = plan->cluster ? gt_check_cluster_proof(plan, report, err)
			   : gt_check_proof(plan, report, err);
	return rc ? rc : gt_check_optimal(plan, report, err);
}

int gt_plan_check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_report report;

	return gt_plan_check_report(plan, &report, err);
}

const char *gt_bound_state_text(enum gt_bound_state state)
{
	static const char *const texts[GT_NBOUNDS] = {
		[GT_BOUND_ABSENT] = "not checked: no certificate",
		[GT_BOUND_NO_ROUTES] = "not checked: no routes",
		[GT_BOUND_TOO_MANY] = "not checked: too many ranks",
		[GT_BOUND_TOO_FINE] = "not checked: prices too fine",
		[GT_BOUND_PROVEN] = "proven",
	};

	return texts[state];
}
