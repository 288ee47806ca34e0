/* Measurements from JSON. */
#include "plan/json/read_sections.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"

static int gt_read_sizes(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_measured *measured, struct gt_err *err)
{
	struct gt_json at, item;
	int64_t bytes;
	int rc = gt_json_need(object, "bytes", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &measured->npoints, err);
	if (rc)
		return rc;
	measured->bytes = gt_read_array(reader, measured->npoints,
					sizeof(*measured->bytes), err);
	if (!measured->bytes)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < measured->npoints; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_json_int(&item, 1, INT64_MAX, &bytes, err);
		if (!rc)
			measured->bytes[i] = (uint64_t)bytes;
	}
	return rc;
}

/* There is one time for each size. */
static int gt_read_times(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_measured *measured, struct gt_err *err)
{
	struct gt_json at, item;
	uint32_t n;
	int rc = gt_json_need(object, "time_us", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (!rc && n != measured->npoints)
		rc = gt_json_fault(&at, err, "there are '%u' for '%u' sizes", n,
				   measured->npoints);
	if (rc)
		return rc;
	measured->time_us =
		gt_read_array(reader, n, sizeof(*measured->time_us), err);
	if (!measured->time_us)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < n; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_json_double(&item, &measured->time_us[i], err);
	}
	return rc;
}

static int gt_read_measured(struct gt_plan_reader *reader,
			    const struct gt_json *object,
			    struct gt_plan_measured *measured,
			    struct gt_err *err)
{
	static const char *const keys[] = {
		"machine",    "coll",        "algo",
		"protocol",   "channels",    "workers",
		"slots",      "slice_bytes", "detour_permille",
		"max_blocks", "bytes",       "time_us",
		NULL};
	struct gt_json at;
	int rc = gt_json_object(object, keys, err);

	if (!rc)
		rc = gt_json_need(object, "machine", &at, err);
	if (!rc)
		rc = gt_read_text(reader, object, "machine", &measured->machine,
				  err);
	if (!rc)
		rc = gt_read_use(reader, object, &measured->use, err);
	measured->use.max_bytes = UINT64_MAX;
	if (!rc)
		rc = gt_read_sizes(reader, object, measured, err);
	return rc ? rc : gt_read_times(reader, object, measured, err);
}

int gt_read_measurements(struct gt_plan_reader *reader,
			 const struct gt_json *root, struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	uint32_t n;
	int rc;

	if (!gt_json_get(root, "measurements", &at))
		return GT_OK;
	rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	plan->measured = gt_read_array(reader, n, sizeof(*plan->measured), err);
	if (!plan->measured)
		return GT_ESYS;
	plan->nmeasured = n;
	for (uint32_t i = 0; !rc && i < n; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_measured(reader, &item, &plan->measured[i], err);
	}
	return rc;
}
