#include "plan/check/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/cluster.h"
#include "plan/ir/plan.h"

enum {
	GT_MAX_SLOTS = 1 << 16,
	GT_MIN_SLICE_BYTES = 16,
	GT_MAX_SLICE_BYTES = 1 << 30,
	GT_MAX_WORKERS = 1024,
	GT_MAX_ROWS = 256,
};

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

static int gt_check_fifo(const struct gt_plan *plan, struct gt_err *err)
{
	if (!plan->fifo_slots || plan->fifo_slots > GT_MAX_SLOTS)
		return gt_plan_wrong(plan, gt_plan_at("fifo.slots"), err,
				     "'%u' is not within 1 and %d",
				     plan->fifo_slots, GT_MAX_SLOTS);
	if (plan->fifo_slice_bytes < GT_MIN_SLICE_BYTES ||
	    plan->fifo_slice_bytes > GT_MAX_SLICE_BYTES)
		return gt_plan_wrong(plan, gt_plan_at("fifo.slice_bytes"), err,
				     "'%u' is not within %d and %d",
				     plan->fifo_slice_bytes, GT_MIN_SLICE_BYTES,
				     GT_MAX_SLICE_BYTES);
	return GT_OK;
}

static int gt_check_used(const struct gt_check_use *check, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_select *use = check->use;

	for (uint32_t i = 0; i < use->nchannels; i++) {
		uint32_t c = use->channels[i];
		const struct gt_plan_channel *channel = &plan->channels[c];
		struct gt_plan_at at = gt_plan_at("%s[%u].channels[%u]",
						  check->list, check->index, i);

		if (check->seen[c] == check->index + 1)
			return gt_plan_wrong(plan, at, err,
					     "channel '%u' is used twice",
					     channel->id);
		check->seen[c] = check->index + 1;
		if (!gt_algo_fits_shape(use->algo, channel->shape))
			return gt_plan_wrong(
				plan, at, err,
				"channel '%u' is a %s; algo '%s' cannot use it",
				channel->id, gt_shape_name(channel->shape),
				gt_algo_name(use->algo));
	}
	return GT_OK;
}

static struct gt_plan_at gt_use_at(const struct gt_check_use *check,
				   const char *key)
{
	return gt_plan_at("%s[%u].%s", check->list, check->index, key);
}

static int gt_check_use_fifo(const struct gt_check_use *check,
			     struct gt_err *err)
{
	const struct gt_plan_select *use = check->use;

	if (use->slots > GT_MAX_SLOTS)
		return gt_plan_wrong(check->plan, gt_use_at(check, "slots"),
				     err, "'%u' is not within 1 and %d",
				     use->slots, GT_MAX_SLOTS);
	if (use->slice_bytes && (use->slice_bytes < GT_MIN_SLICE_BYTES ||
				 use->slice_bytes > GT_MAX_SLICE_BYTES))
		return gt_plan_wrong(
			check->plan, gt_use_at(check, "slice_bytes"), err,
			"'%u' is not within %d and %d", use->slice_bytes,
			GT_MIN_SLICE_BYTES, GT_MAX_SLICE_BYTES);
	if (!use->workers || use->workers > GT_MAX_WORKERS)
		return gt_plan_wrong(check->plan, gt_use_at(check, "workers"),
				     err, "'%u' is not within 1 and %d",
				     use->workers, GT_MAX_WORKERS);
	return GT_OK;
}

static const char *gt_rank_node(const struct gt_plan *plan, uint32_t rank)
{
	return plan->ranks[rank].node ? plan->ranks[rank].node : "";
}

/* It is through the memory of one host, which all ranks have to reach. */
static int gt_check_detour(const struct gt_check_use *check, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	uint32_t permille = check->use->detour_permille, r = 1;
	struct gt_plan_at at = gt_use_at(check, "detour_permille");

	if (permille > GT_DETOUR_MAX_PERMILLE)
		return gt_plan_wrong(plan, at, err,
				     "'%u' is not within 0 and %d", permille,
				     GT_DETOUR_MAX_PERMILLE);
	if (!permille)
		return GT_OK;
	while (r < plan->nranks &&
	       !strcmp(gt_rank_node(plan, r), gt_rank_node(plan, 0)))
		r++;
	if (r < plan->nranks)
		return gt_plan_wrong(plan, at, err,
				     "ranks 0 and %u are on nodes '%s' and "
				     "'%s'; a detour is within one",
				     r, gt_rank_node(plan, 0),
				     gt_rank_node(plan, r));
	return GT_OK;
}

int gt_check_use(const struct gt_check_use *check, struct gt_err *err)
{
	int rc = gt_check_use_fifo(check, err);

	if (!rc)
		rc = gt_check_detour(check, err);
	if (!rc && !check->use->nchannels)
		rc = gt_plan_wrong(check->plan, gt_use_at(check, "channels"),
				   err, "there are none");
	return rc ? rc : gt_check_used(check, err);
}

/* limits[coll]: of the row before of the same collective, and 1; or 0. */
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
	const struct gt_check_use check = {plan, &plan->select[row], "select",
					   row, seen};
	int rc = gt_check_limit(plan, row, limits, err);

	return rc ? rc : gt_check_use(&check, err);
}

/* Each collective ends without a limit, and the plan's own is there. */
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

/* Ids are how people and files call channels. */
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

int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err)
{
	int rc = gt_check_fifo(plan, err);

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
	return plan->cluster ? gt_check_cluster_proof(plan, report, err)
			     : gt_check_proof(plan, report, err);
}

int gt_plan_check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_report report;

	return gt_plan_check_report(plan, &report, err);
}
