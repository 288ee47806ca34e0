#include "plan/read.h"

#include "base/err.h"
#include "base/json.h"
#include "plan/plan.h"

enum {
	GT_DEFAULT_SLOTS = 8,
	GT_DEFAULT_SLICE_BYTES = 512 << 10,
};

int gt_read_fifo(struct gt_plan_reader *reader, const struct gt_json *root,
		 struct gt_err *err)
{
	static const char *const keys[] = {"slots", "slice_bytes", NULL};
	struct gt_plan *plan = reader->plan;
	struct gt_json at, member;
	int rc;

	plan->fifo_slots = GT_DEFAULT_SLOTS;
	plan->fifo_slice_bytes = GT_DEFAULT_SLICE_BYTES;
	if (!gt_json_get(root, "fifo", &at))
		return GT_OK;
	rc = gt_json_object(&at, keys, err);
	if (!rc)
		rc = gt_json_need(&at, "slots", &member, err);
	if (!rc)
		rc = gt_json_u32(&member, UINT32_MAX, &plan->fifo_slots, err);
	if (!rc)
		rc = gt_json_need(&at, "slice_bytes", &member, err);
	if (!rc)
		rc = gt_json_u32(&member, UINT32_MAX, &plan->fifo_slice_bytes,
				 err);
	return rc;
}

static int gt_read_max_bytes(const struct gt_json *object, uint64_t *max_bytes,
			     struct gt_err *err)
{
	struct gt_json at;
	int64_t value = 0;
	int rc = gt_json_need(object, "max_bytes", &at, err);

	*max_bytes = UINT64_MAX;
	if (rc || gt_json_is_null(&at))
		return rc;
	rc = gt_json_int(&at, 0, INT64_MAX, &value, err);
	*max_bytes = (uint64_t)value;
	return rc;
}

static int gt_read_one_select(struct gt_plan_reader *reader,
			      const struct gt_json *object,
			      struct gt_plan_select *select, struct gt_err *err)
{
	static const char *const keys[] = {"max_bytes", "algo",    "protocol",
					   "channels",  "workers", NULL};
	struct gt_json at;
	int rc = gt_json_object(object, keys, err), algo = 0, protocol = 0;

	if (!rc)
		rc = gt_read_max_bytes(object, &select->max_bytes, err);
	if (!rc)
		rc = gt_read_word(object, "algo", gt_shape_find, &algo, err);
	if (!rc)
		rc = gt_read_word(object, "protocol", gt_protocol_find,
				  &protocol, err);
	if (!rc)
		rc = gt_json_need(object, "channels", &at, err);
	if (!rc)
		rc = gt_read_numbers(reader, &at, UINT32_MAX,
				     &select->nchannels, &select->channels,
				     err);
	if (!rc)
		rc = gt_json_need(object, "workers", &at, err);
	if (!rc)
		rc = gt_json_u32(&at, UINT32_MAX, &select->workers, err);
	select->algo = (enum gt_shape)algo;
	select->protocol = (enum gt_protocol)protocol;
	return rc;
}

/* Without a table every size uses all channels, one worker each. */
static int gt_read_no_select(struct gt_plan_reader *reader, struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_plan_select *select;

	select = gt_read_array(reader, 1, sizeof(*select), err);
	if (!select)
		return GT_ESYS;
	select->channels = gt_read_array(reader, plan->nchannels,
					 sizeof(*select->channels), err);
	if (!select->channels)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nchannels; i++)
		select->channels[i] = plan->channels[i].id;
	select->nchannels = plan->nchannels;
	select->max_bytes = UINT64_MAX;
	select->algo = plan->channels[0].shape;
	select->workers = 1;
	plan->select = select;
	plan->nselect = 1;
	return GT_OK;
}

int gt_read_select(struct gt_plan_reader *reader, const struct gt_json *root,
		   struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	int rc;

	if (!gt_json_get(root, "select", &at))
		return gt_read_no_select(reader, err);
	rc = gt_json_array(&at, &plan->nselect, err);
	if (rc)
		return rc;
	plan->select = gt_read_array(reader, plan->nselect,
				     sizeof(*plan->select), err);
	if (!plan->select)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nselect && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_one_select(reader, &item, &plan->select[i], err);
	}
	return rc;
}
