/*
 * The tools of the plan's reader: values of a JSON object as ranks, links,
 * words of a table and arrays in the plan's arena.
 */
#include "plan/json/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/plan.h"

void *gt_read_array(struct gt_plan_reader *reader, uint32_t n,
		    size_t size_bytes, struct gt_err *err)
{
	void *memory = gt_arena_array(reader->plan->arena, n, size_bytes);

	if (!memory)
		gt_err_nomem(err);
	return memory;
}

int gt_read_text(struct gt_plan_reader *reader, const struct gt_json *object,
		 const char *key, const char **text, struct gt_err *err)
{
	struct gt_json at;
	const char *borrowed;
	int rc;

	if (!gt_json_get(object, key, &at))
		return GT_OK;
	rc = gt_json_text(&at, &borrowed, err);
	if (rc)
		return rc;
	*text = gt_arena_strdup(reader->plan->arena, borrowed);
	return *text ? GT_OK : gt_err_nomem(err);
}

int gt_read_word(const struct gt_json *object, const char *key,
		 int (*find)(const char *), int *value, struct gt_err *err)
{
	struct gt_json at;
	const char *word;
	int rc = gt_json_need(object, key, &at, err);

	if (!rc)
		rc = gt_json_text(&at, &word, err);
	if (rc)
		return rc;
	if (find(word) < 0)
		return gt_json_fault(&at, err, "'%s' is not a known %s", word,
				     key);
	*value = find(word);
	return GT_OK;
}

int gt_read_rank(struct gt_plan_reader *reader, const struct gt_json *object,
		 const char *key, uint32_t *rank, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_json_need(object, key, &at, err);

	return rc ? rc : gt_json_u32(&at, reader->plan->nranks - 1, rank, err);
}

/* Read an array's length, and make room for a number for each item. */
static int gt_read_list(struct gt_plan_reader *reader, const struct gt_json *at,
			uint32_t *n, uint32_t **numbers, struct gt_err *err)
{
	int rc = gt_json_array(at, n, err);

	if (rc)
		return rc;
	*numbers = gt_read_array(reader, *n, sizeof(**numbers), err);
	return *numbers ? GT_OK : GT_ESYS;
}

int gt_read_numbers(struct gt_plan_reader *reader, const struct gt_json *at,
		    uint32_t max, uint32_t *n, uint32_t **numbers,
		    struct gt_err *err)
{
	struct gt_json item;
	uint32_t len, *made;
	int rc = gt_read_list(reader, at, &len, &made, err);

	for (uint32_t i = 0; !rc && i < len; i++) {
		gt_json_item(at, i, &item);
		rc = gt_json_u32(&item, max, &made[i], err);
	}
	if (rc)
		return rc;
	*n = len;
	*numbers = made;
	return GT_OK;
}

static int gt_link_name_cmp(const void *a, const void *b)
{
	const struct gt_link_name *left = a, *right = b;

	return strcmp(left->id, right->id);
}

/* Links are sorted by id, so that a file of a million links is read in time. */
int gt_read_link_names(struct gt_plan_reader *reader, const struct gt_json *at,
		       struct gt_err *err)
{
	uint32_t n = reader->plan->nlinks;
	struct gt_json item;

	reader->names = gt_read_array(reader, n, sizeof(*reader->names), err);
	if (!reader->names)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		reader->names[i] =
			(struct gt_link_name){reader->plan->links[i].id, i};
	qsort(reader->names, n, sizeof(*reader->names), gt_link_name_cmp);
	for (uint32_t i = 1; i < n; i++) {
		if (gt_link_name_cmp(&reader->names[i - 1], &reader->names[i]))
			continue;
		gt_json_item(at, reader->names[i].index, &item);
		return gt_json_fault(
			&item, err, "id '%s' is also that of links[%u]",
			reader->names[i].id, reader->names[i - 1].index);
	}
	return GT_OK;
}

int gt_read_link(struct gt_plan_reader *reader, const struct gt_json *at,
		 const char *id, uint32_t *link, struct gt_err *err)
{
	struct gt_link_name key = {.id = id}, *found;

	found = bsearch(&key, reader->names, reader->plan->nlinks, sizeof(key),
			gt_link_name_cmp);
	if (!found)
		return gt_json_fault(at, err, "link '%s' is not in links", id);
	*link = found->index;
	return GT_OK;
}

int gt_read_links(struct gt_plan_reader *reader, const struct gt_json *at,
		  uint32_t *n, uint32_t **links, struct gt_err *err)
{
	struct gt_json item;
	uint32_t len, *made;
	const char *id;
	int rc = gt_read_list(reader, at, &len, &made, err);

	for (uint32_t i = 0; !rc && i < len; i++) {
		gt_json_item(at, i, &item);
		rc = gt_json_text(&item, &id, err);
		if (!rc)
			rc = gt_read_link(reader, &item, id, &made[i], err);
	}
	if (rc)
		return rc;
	*n = len;
	*links = made;
	return GT_OK;
}

int gt_read_charge(const struct gt_json *object, struct gt_rat *charge,
		   struct gt_err *err)
{
	struct gt_json at;

	*charge = GT_RAT(1, 1);
	if (!gt_json_get(object, "charge", &at))
		return GT_OK;
	return gt_json_rat(&at, charge, err);
}

static int gt_read_one_rank(struct gt_plan_reader *reader,
			    const struct gt_json *at, uint32_t i,
			    struct gt_err *err)
{
	static const char *const keys[] = {"rank", "node", "device",
					   "dev",  "name", NULL};
	struct gt_plan_rank *rank = &reader->plan->ranks[i];
	struct gt_json dev;
	uint32_t number;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_read_rank(reader, at, "rank", &number, err);
	if (!rc && number != i)
		rc = gt_json_fault(at, err,
				   "rank '%u' stands where rank %u belongs",
				   number, i);
	if (!rc)
		rc = gt_read_text(reader, at, "node", &rank->node, err);
	if (!rc)
		rc = gt_read_text(reader, at, "device", &rank->device, err);
	if (!rc)
		rc = gt_read_text(reader, at, "name", &rank->name, err);
	if (!rc && gt_json_get(at, "dev", &dev)) {
		rank->has_dev = 1;
		rc = gt_json_u32(&dev, INT32_MAX, &rank->dev, err);
	}
	return rc;
}

int gt_read_rank_list(struct gt_plan_reader *reader, const struct gt_json *at,
		      struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json item;
	int rc = gt_json_array(at, &plan->nranks, err);

	if (rc)
		return rc;
	if (!plan->nranks)
		return gt_json_fault(at, err, "there are no ranks");
	plan->ranks =
		gt_read_array(reader, plan->nranks, sizeof(*plan->ranks), err);
	if (!plan->ranks)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nranks && !rc; i++) {
		gt_json_item(at, i, &item);
		rc = gt_read_one_rank(reader, &item, i, err);
	}
	return rc;
}
