#include "plan/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/plan.h"

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

/* A channel's id and index, and the row of select that used it last. */
struct gt_id {
	uint32_t id, index, used;
};

static int gt_id_cmp(const void *a, const void *b)
{
	const struct gt_id *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static int gt_check_select_channels(const struct gt_plan *plan, uint32_t row,
				    struct gt_id *ids, struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];

	for (uint32_t i = 0; i < select->nchannels; i++) {
		struct gt_plan_at at =
			gt_plan_at("select[%u].channels[%u]", row, i);
		struct gt_id key = {.id = select->channels[i]};
		struct gt_id *id = bsearch(&key, ids, plan->nchannels,
					   sizeof(*ids), gt_id_cmp);

		if (!id)
			return gt_plan_wrong(plan, at, err,
					     "there is no channel '%u'",
					     key.id);
		if (id->used == row + 1)
			return gt_plan_wrong(plan, at, err,
					     "channel '%u' is used twice",
					     key.id);
		id->used = row + 1;
		if (plan->channels[id->index].shape != select->algo)
			return gt_plan_wrong(
				plan, at, err, "channel '%u' is a %s, not a %s",
				key.id,
				gt_shape_name(plan->channels[id->index].shape),
				gt_shape_name(select->algo));
	}
	return GT_OK;
}

static int gt_check_select_row(const struct gt_plan *plan, uint32_t row,
			       struct gt_id *ids, struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	int last = row + 1 == plan->nselect;

	if (row && select->max_bytes <= select[-1].max_bytes)
		return gt_plan_wrong(plan,
				     gt_plan_at("select[%u].max_bytes", row),
				     err, "does not come after the row before");
	if (last != (select->max_bytes == UINT64_MAX))
		return gt_plan_wrong(
			plan, gt_plan_at("select[%u].max_bytes", row), err,
			"the last row, and it alone, has no "
			"limit (null)");
	if (!select->workers || select->workers > GT_MAX_WORKERS)
		return gt_plan_wrong(plan,
				     gt_plan_at("select[%u].workers", row), err,
				     "'%u' is not within 1 and %d",
				     select->workers, GT_MAX_WORKERS);
	if (!select->nchannels)
		return gt_plan_wrong(plan,
				     gt_plan_at("select[%u].channels", row),
				     err, "there are none");
	return gt_check_select_channels(plan, row, ids, err);
}

static int gt_check_ids(const struct gt_plan *plan, struct gt_id *ids,
			struct gt_err *err)
{
	for (uint32_t i = 0; i < plan->nchannels; i++)
		ids[i] = (struct gt_id){plan->channels[i].id, i, 0};
	qsort(ids, plan->nchannels, sizeof(*ids), gt_id_cmp);
	for (uint32_t i = 1; i < plan->nchannels; i++)
		if (ids[i].id == ids[i - 1].id)
			return gt_plan_wrong(
				plan,
				gt_plan_at("channels[%u].id", ids[i].index),
				err, "'%u' is also that of channels[%u]",
				ids[i].id, ids[i - 1].index);
	return GT_OK;
}

static int gt_check_select(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_id *ids = calloc(plan->nchannels, sizeof(*ids));
	int rc;

	if (!ids)
		return gt_err_nomem(err);
	rc = gt_check_ids(plan, ids, err);
	if (!rc && (!plan->nselect || plan->nselect > GT_MAX_ROWS))
		rc = gt_plan_wrong(plan, gt_plan_at("select"), err,
				   "there are %u rows, not 1 to %d",
				   plan->nselect, GT_MAX_ROWS);
	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = gt_check_select_row(plan, i, ids, err);
	free(ids);
	return rc;
}

int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err)
{
	int rc = gt_check_fifo(plan, err);

	if (!rc)
		rc = gt_check_channels(plan, err);
	if (!rc)
		rc = gt_check_select(plan, err);
	if (!rc)
		rc = gt_check_loads(plan, err);
	return rc ? rc : gt_check_proof(plan, report, err);
}

int gt_plan_check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_report report;

	return gt_plan_check_report(plan, &report, err);
}
