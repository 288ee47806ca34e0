/*
 * The vertices of a channel through switches that multicast and add up: the
 * root first, all others behind their parents.
 */
#include "plan/json/read_sections.h"

#include "base/err.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "plan/ir/plan.h"
#include "plan/json/print_sections.h"
#include "plan/json/reader.h"

/* A vertex is a switch by its name or a rank by its number. */
static int read_who(struct gt_plan_reader *reader, const struct gt_json *at,
		    struct gt_plan_vertex *vertex, struct gt_err *err)
{
	struct gt_json drives;
	int rc = gt_read_text(reader, at, "switch", &vertex->name, err);

	if (rc || vertex->name)
		return rc;
	rc = gt_read_rank(reader, at, "rank", &vertex->rank, err);
	if (!rc && gt_json_get(at, "drives", &drives))
		rc = gt_json_bool(&drives, &vertex->drives, err);
	return rc;
}

/* All but the root, which is the first one, have a parent and ways to it. */
static int read_edge(struct gt_plan_reader *reader, const struct gt_json *at,
		     struct gt_plan_vertex *vertex, struct gt_err *err)
{
	struct gt_json member;
	int64_t parent = 0;
	int rc = gt_json_need(at, "parent", &member, err);

	if (!rc)
		rc = gt_json_int(&member, 0, INT32_MAX, &parent, err);
	vertex->parent = (int32_t)parent;
	if (!rc && gt_json_get(at, "up", &member))
		rc = gt_read_links(reader, &member, &vertex->nup, &vertex->up,
				   err);
	if (!rc && gt_json_get(at, "down", &member))
		rc = gt_read_links(reader, &member, &vertex->ndown,
				   &vertex->down, err);
	return rc;
}

static int read_vertex(struct gt_plan_reader *reader, const struct gt_json *at,
		       uint32_t i, struct gt_plan_vertex *vertex,
		       struct gt_err *err)
{
	static const char *const root[] = {"rank", "drives", NULL};
	static const char *const relay[] = {"switch", NULL};
	static const char *const leaf[] = {"rank", "drives", "parent",
					   "up",   "down",   NULL};
	static const char *const inner[] = {"switch", "parent", "up", "down",
					    NULL};
	struct gt_json name;
	int named = gt_json_get(at, "switch", &name), rc;

	if (i)
		rc = gt_json_object(at, named ? inner : leaf, err);
	else
		rc = gt_json_object(at, named ? relay : root, err);
	vertex->parent = -1;
	if (!rc)
		rc = read_who(reader, at, vertex, err);
	return rc || !i ? rc : read_edge(reader, at, vertex, err);
}

int gt_read_vertices(struct gt_plan_reader *reader,
		     const struct gt_json *object,
		     struct gt_plan_channel *channel, struct gt_err *err)
{
	static const char *const keys[] = {"id",  "shape",  "vertices", "share",
					   "gbs", "bw_gbs", NULL};
	struct gt_json at, item;
	uint32_t n;
	int rc = gt_json_object(object, keys, err);

	if (!rc)
		rc = gt_json_need(object, "vertices", &at, err);
	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	channel->vertices =
		gt_read_array(reader, n, sizeof(*channel->vertices), err);
	if (!channel->vertices)
		return GT_ESYS;
	channel->nvertices = n;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = read_vertex(reader, &item, i, &channel->vertices[i], err);
	}
	return rc;
}

static void print_vertex(const struct gt_plan *plan,
			 const struct gt_plan_vertex *vertex,
			 struct gt_json_writer *json)
{
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	if (vertex->name)
		gt_json_put_text(json, "switch", vertex->name);
	else
		gt_json_put_int(json, "rank", vertex->rank);
	if (vertex->drives)
		gt_json_put_bool(json, "drives", 1);
	if (vertex->parent >= 0)
		gt_json_put_int(json, "parent", vertex->parent);
	if (vertex->nup)
		gt_print_links(plan, json, "up", vertex->nup, vertex->up);
	if (vertex->ndown)
		gt_print_links(plan, json, "down", vertex->ndown, vertex->down);
	gt_json_end(json);
}

void gt_print_vertices(const struct gt_plan *plan,
		       const struct gt_plan_channel *channel,
		       struct gt_json_writer *json)
{
	gt_json_open_array(json, "vertices", GT_JSON_LINES);
	for (uint32_t i = 0; i < channel->nvertices; i++)
		print_vertex(plan, &channel->vertices[i], json);
	gt_json_end(json);
}
