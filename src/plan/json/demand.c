/*
 * A demand as JSON: an array for each rank of the bytes that it has for each
 * rank.
 */
#include "plan/json/read_sections.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "plan/json/print_sections.h"
#include "plan/json/reader.h"

/* Read what a rank has for each of n. */
static int read_row(const struct gt_json *at, uint32_t n, uint64_t *bytes,
		    struct gt_err *err)
{
	struct gt_json item;
	uint32_t len;
	int64_t value;
	int rc = gt_json_array(at, &len, err);

	if (!rc && len != n)
		return gt_json_fault(at, err, "has %u numbers for %u ranks",
				     len, n);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(at, i, &item);
		rc = gt_json_int(&item, 0, INT64_MAX, &value, err);
		if (!rc)
			bytes[i] = (uint64_t)value;
	}
	return rc;
}

int gt_read_demand_matrix(const struct gt_json *at, struct gt_arena *arena,
			  uint32_t *n, uint64_t **bytes, struct gt_err *err)
{
	struct gt_json item;
	uint64_t *made;
	uint32_t len;
	int rc = gt_json_array(at, &len, err);

	if (!rc && len > GT_DEMAND_MAX_RANKS)
		return gt_json_fault(at, err, "has %u ranks, more than %d", len,
				     GT_DEMAND_MAX_RANKS);
	if (rc)
		return rc;
	made = gt_arena_array(arena, (size_t)len * len, sizeof(*made));
	if (!made)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < len && !rc; i++) {
		gt_json_item(at, i, &item);
		rc = read_row(&item, len, made + (size_t)i * len, err);
	}
	if (rc)
		return rc;
	*n = len;
	*bytes = made;
	return GT_OK;
}

int gt_read_demand(struct gt_plan_reader *reader, const struct gt_json *root,
		   struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at;
	struct gt_err why;
	uint64_t *bytes;
	uint32_t n;
	int rc;

	if (!gt_json_get(root, "demand", &at))
		return GT_OK;
	rc = gt_read_demand_matrix(&at, plan->arena, &n, &bytes, err);
	if (rc)
		return rc;
	if (n != plan->nranks)
		return gt_json_fault(&at, err, "is of %u ranks, the plan of %u",
				     n, plan->nranks);
	gt_err_init(&why);
	rc = gt_demand_new(n, bytes, plan->arena, &plan->demand, &why);
	if (rc == GT_EINPUT)
		return gt_json_fault(&at, err, "%s", why.text);
	return rc ? gt_err_nomem(err) : GT_OK;
}

void gt_print_demand(const struct gt_plan *plan, struct gt_json_writer *json)
{
	if (!plan->demand)
		return;
	gt_json_open_array(json, "demand", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nranks; i++) {
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t j = 0; j < plan->nranks; j++)
			gt_json_put_int(
				json, NULL,
				(int64_t)plan->demand
					->bytes[(size_t)i * plan->nranks + j]);
		gt_json_end(json);
	}
	gt_json_end(json);
}
