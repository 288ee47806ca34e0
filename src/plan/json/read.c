/*
 * The way in: a plan's sections are read in order.  Those that have no file of
 * their own are here: topology, ranks, links.
 */
#include "plan/json/json.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/kind.h"
#include "base/text.h"
#include "plan/ir/plan.h"
#include "plan/json/read_sections.h"
#include "plan/json/reader.h"

static int gt_read_topology(struct gt_plan_reader *reader,
			    const struct gt_json *root, struct gt_err *err)
{
	static const char *const keys[] = {"digest", "shape_digest", "source",
					   "rates", NULL};
	struct gt_plan *plan = reader->plan;
	const char **const texts[] = {&plan->digest, &plan->shape_digest,
				      &plan->source, &plan->rates};
	struct gt_json at;
	int rc;

	if (!gt_json_get(root, "topology", &at))
		return GT_OK;
	rc = gt_json_object(&at, keys, err);
	for (int i = 0; keys[i] && !rc; i++)
		rc = gt_read_text(reader, &at, keys[i], texts[i], err);
	return rc;
}

static int gt_read_ranks(struct gt_plan_reader *reader,
			 const struct gt_json *root, struct gt_err *err)
{
	struct gt_json at, ranks;
	int rc;

	if (!gt_json_get(root, "cluster", &at)) {
		rc = gt_json_need(root, "ranks", &at, err);
		return rc ? rc : gt_read_rank_list(reader, &at, err);
	}
	if (gt_json_get(root, "ranks", &ranks))
		return gt_json_fault(&ranks, err, "stands beside 'cluster'");
	return gt_read_cluster(reader, &at, err);
}

static int gt_read_one_link(struct gt_plan_reader *reader,
			    const struct gt_json *at, struct gt_plan_link *link,
			    struct gt_err *err)
{
	static const char *const keys[] = {"id", "kind", "gbs", NULL};
	struct gt_json gbs;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_read_text(reader, at, "id", &link->id, err);
	if (!rc && !link->id)
		rc = gt_json_fault(at, err, "'id' is missing");
	if (!rc)
		rc = gt_read_text(reader, at, "kind", &link->kind, err);
	if (!rc)
		rc = gt_json_need(at, "gbs", &gbs, err);
	return rc ? rc : gt_json_rat(&gbs, &link->gbs, err);
}

static int gt_read_link_list(struct gt_plan_reader *reader,
			     const struct gt_json *root, struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	int rc = gt_json_need(root, "links", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &plan->nlinks, err);
	if (rc)
		return rc;
	plan->links =
		gt_read_array(reader, plan->nlinks, sizeof(*plan->links), err);
	if (!plan->links)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nlinks && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_one_link(reader, &item, &plan->links[i], err);
	}
	return rc ? rc : gt_read_link_names(reader, &at, err);
}

/* Of another file of gtopo's, what it is says more than its first odd key. */
static int gt_read_kind(const struct gt_json *root, struct gt_err *err)
{
	const char *schema = "", *says;
	struct gt_err no_text;
	struct gt_json at;

	gt_err_init(&no_text);
	if (gt_json_get(root, "traceEvents", &at))
		schema = "traceEvents";
	else if (gt_json_get(root, "schema", &at))
		gt_json_text(&at, &schema, &no_text);
	if (gt_starts_with(schema, "gtopo.plan/"))
		return GT_OK;
	says = gt_kind_of_schema(schema);
	return says ? gt_json_fault(root, err, "%s", says) : GT_OK;
}

static int gt_read_schema(const struct gt_json *root, struct gt_err *err)
{
	static const char *const keys[] = {
		"schema",       "topology",  "collective", "root",
		"out_of_place", "invariant", "ranks",      "cluster",
		"demand",       "links",     "hops",       "channels",
		"proof",        "fifo",      "select",     "programs",
		"measurements", NULL};
	struct gt_json at;
	const char *schema;
	int rc = gt_read_kind(root, err);

	if (!rc)
		rc = gt_json_object(root, keys, err);
	if (!rc)
		rc = gt_json_need(root, "schema", &at, err);
	if (!rc)
		rc = gt_json_text(&at, &schema, err);
	if (!rc && strcmp(schema, "gtopo.plan/1"))
		rc = gt_json_fault(&at, err, "'%s' is not 'gtopo.plan/1'",
				   schema);
	return rc;
}

static int gt_read_all(struct gt_plan_reader *reader,
		       const struct gt_json *root, struct gt_err *err)
{
	int rc = gt_read_schema(root, err), coll = 0;
	struct gt_json at;

	if (!rc)
		rc = gt_read_topology(reader, root, err);
	if (!rc)
		rc = gt_read_word(root, "collective", gt_coll_find, &coll, err);
	reader->plan->coll = (enum gt_coll)coll;
	if (!rc)
		rc = gt_read_ranks(reader, root, err);
	if (!rc && gt_json_get(root, "root", &at))
		rc = gt_read_rank(reader, root, "root", &reader->plan->root,
				  err);
	if (!rc && gt_json_get(root, "out_of_place", &at))
		rc = gt_json_bool(&at, &reader->plan->out_of_place, err);
	if (!rc && gt_json_get(root, "invariant", &at))
		rc = gt_json_bool(&at, &reader->plan->invariant, err);
	if (!rc)
		rc = gt_read_demand(reader, root, err);
	if (!rc)
		rc = gt_read_link_list(reader, root, err);
	if (!rc)
		rc = gt_read_proof(reader, root, err);
	if (!rc)
		rc = gt_read_common_hops(reader, root, err);
	if (!rc)
		rc = gt_read_channels(reader, root, err);
	if (!rc)
		rc = gt_read_programs(reader, root, err);
	if (!rc)
		rc = gt_read_fifo(reader, root, err);
	if (!rc)
		rc = gt_read_select(reader, root, err);
	if (!rc)
		rc = gt_read_measurements(reader, root, err);
	return rc;
}

static int gt_plan_from(const struct gt_json_doc *doc, struct gt_plan **plan,
			struct gt_err *err)
{
	struct gt_plan_reader reader = {.plan = gt_plan_new()};
	struct gt_json root = gt_json_root(doc);
	int rc;

	if (!reader.plan)
		return gt_err_nomem(err);
	rc = gt_read_all(&reader, &root, err);
	if (!rc) {
		reader.plan->file =
			gt_arena_strdup(reader.plan->arena, gt_json_name(doc));
		rc = reader.plan->file ? GT_OK : gt_err_nomem(err);
	}
	if (rc)
		gt_plan_free(reader.plan);
	else
		*plan = reader.plan;
	return rc;
}

int gt_plan_parse(const char *name, const char *text, size_t len,
		  struct gt_plan **plan, struct gt_err *err)
{
	struct gt_json_doc *doc;
	int rc = gt_json_parse(name, text, len, &doc, err);

	if (rc)
		return rc;
	rc = gt_plan_from(doc, plan, err);
	gt_json_close(doc);
	return rc;
}

int gt_plan_read(const char *path, struct gt_plan **plan, struct gt_err *err)
{
	struct gt_json_doc *doc;
	int rc = gt_json_open(path, &doc, err);

	if (rc)
		return rc;
	rc = gt_plan_from(doc, plan, err);
	gt_json_close(doc);
	return rc;
}
