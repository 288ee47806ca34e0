/*
 * Uses of channels from JSON: rows of select and the FIFO, with defaults for
 * what is left out.
 */
#include "plan/json/read_sections.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"

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

static int gt_id_cmp(const void *a, const void *b)
{
	const struct gt_channel_id *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

/* Sort the channels' ids, so that indices are found by them. */
static int gt_read_ids(struct gt_plan_reader *reader, struct gt_err *err)
{
	const struct gt_plan *plan = reader->plan;
	uint32_t n = plan->nchannels;

	reader->ids = gt_read_array(reader, n, sizeof(*reader->ids), err);
	if (!reader->ids)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		reader->ids[i] =
			(struct gt_channel_id){plan->channels[i].id, i};
	qsort(reader->ids, n, sizeof(*reader->ids), gt_id_cmp);
	return GT_OK;
}

/* The file names channels by id, the plan by index. */
static int gt_read_used(struct gt_plan_reader *reader,
			const struct gt_json *object,
			struct gt_plan_select *select, struct gt_err *err)
{
	struct gt_json at, item;
	int rc = gt_json_need(object, "channels", &at, err);

	if (!rc)
		rc = gt_read_numbers(reader, &at, UINT32_MAX,
				     &select->nchannels, &select->channels,
				     err);
	for (uint32_t i = 0; !rc && i < select->nchannels; i++) {
		struct gt_channel_id key = {.id = select->channels[i]};
		const struct gt_channel_id *id =
			bsearch(&key, reader->ids, reader->plan->nchannels,
				sizeof(key), gt_id_cmp);

		gt_json_item(&at, i, &item);
		if (id)
			select->channels[i] = id->index;
		else
			rc = gt_json_fault(&item, err,
					   "there is no channel '%u'", key.id);
	}
	return rc;
}

/* Read an optional number, which is 0 when it is left out. */
static int gt_read_own(const struct gt_json *object, const char *key,
		       uint32_t *number, struct gt_err *err)
{
	struct gt_json at;

	*number = 0;
	if (!gt_json_get(object, key, &at))
		return GT_OK;
	return gt_json_u32(&at, UINT32_MAX, number, err);
}

static int gt_read_words(const struct gt_plan *plan,
			 const struct gt_json *object,
			 struct gt_plan_select *select, struct gt_err *err)
{
	int coll = (int)plan->coll, algo = 0, protocol = 0, rc = GT_OK;
	struct gt_json at;

	if (gt_json_get(object, "coll", &at))
		rc = gt_read_word(object, "coll", gt_coll_find, &coll, err);
	if (!rc)
		rc = gt_read_word(object, "algo", gt_algo_find, &algo, err);
	if (!rc)
		rc = gt_read_word(object, "protocol", gt_protocol_find,
				  &protocol, err);
	select->coll = (enum gt_coll)coll;
	select->algo = (enum gt_algo)algo;
	select->protocol = (enum gt_protocol)protocol;
	return rc;
}

int gt_read_use(struct gt_plan_reader *reader, const struct gt_json *object,
		struct gt_plan_select *use, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_read_words(reader->plan, object, use, err);

	if (!rc)
		rc = gt_read_used(reader, object, use, err);
	if (!rc)
		rc = gt_json_need(object, "workers", &at, err);
	if (!rc)
		rc = gt_json_u32(&at, UINT32_MAX, &use->workers, err);
	if (!rc)
		rc = gt_read_own(object, "slots", &use->slots, err);
	if (!rc)
		rc = gt_read_own(object, "slice_bytes", &use->slice_bytes, err);
	if (!rc)
		rc = gt_read_own(object, "detour_permille",
				 &use->detour_permille, err);
	if (!rc)
		rc = gt_read_own(object, "max_blocks", &use->max_blocks, err);
	return rc;
}

static int gt_read_one_select(struct gt_plan_reader *reader,
			      const struct gt_json *object,
			      struct gt_plan_select *select, struct gt_err *err)
{
	static const char *const keys[] = {
		"max_bytes",       "coll",       "algo",  "protocol",
		"channels",        "workers",    "slots", "slice_bytes",
		"detour_permille", "max_blocks", NULL};
	int rc = gt_json_object(object, keys, err);

	if (!rc)
		rc = gt_read_max_bytes(object, &select->max_bytes, err);
	return rc ? rc : gt_read_use(reader, object, select, err);
}

/* The algorithm of a plan without a table, by the shape of its channels. */
static enum gt_algo gt_read_algo(const struct gt_plan *plan)
{
	switch (plan->channels[0].shape) {
	case GT_SHAPE_RING:
		return GT_ALGO_RING;
	case GT_SHAPE_STEPS:
		return GT_ALGO_STEPS;
	case GT_SHAPE_MESH:
		return plan->coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT
						       : GT_ALGO_ONE_SHOT;
	case GT_SHAPE_FLOW:
		return GT_ALGO_FLOW;
	case GT_SHAPE_TEMPLATE:
		return GT_ALGO_HIER;
	case GT_SHAPE_SWITCH:
		return GT_ALGO_NVLS;
	default:
		return GT_ALGO_TREE;
	}
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
		select->channels[i] = i;
	select->nchannels = plan->nchannels;
	select->max_bytes = UINT64_MAX;
	select->coll = plan->coll;
	select->algo = gt_read_algo(plan);
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
	int rc = gt_read_ids(reader, err);

	if (rc)
		return rc;
	if (!gt_json_get(root, "select", &at))
		return gt_read_no_select(reader, err);
	rc = gt_json_array(&at, &plan->nselect, err);
	if (!rc && !plan->nselect)
		rc = gt_json_fault(&at, err, "there are no rows");
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
