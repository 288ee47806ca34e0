/* Writes a job's assignments, plans and loads as JSON. */
#include "cli/search/job.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "plan/ir/plan.h"
#include "search/job/assign.h"
#include "search/job/links.h"
#include "search/job/loads.h"
#include "search/job/plans.h"
#include "search/job/site.h"
#include "search/job/workload.h"

enum { NAME_MAX_BYTES = 512 };

static void put_axes(const struct gt_workload *w, struct gt_json_writer *json)
{
	gt_json_open_array(json, "axes", GT_JSON_FLAT);
	for (uint32_t i = 0; i < w->naxes; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "name", w->axes[i].name);
		gt_json_put_int(json, "size", w->axes[i].size);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_places(const struct gt_job_query *query, const uint32_t *place,
		       struct gt_json_writer *json)
{
	const struct gt_site *site = query->site;
	char name[NAME_MAX_BYTES];

	gt_json_open_array(json, "ranks", GT_JSON_LINES);
	for (uint32_t r = 0; r < query->workload->nranks; r++) {
		gt_site_node_name(site, place[r] / site->ngpus, name,
				  sizeof(name));
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "rank", r);
		gt_json_put_text(json, "node", name);
		gt_json_put_int(
			json, "gpu",
			gt_topo_node(
				site->topo,
				gt_topo_gpu(site->topo, place[r] % site->ngpus))
				->dev);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_group(const struct gt_job_query *query,
		      const struct gt_job_cost *cost, uint32_t e, uint32_t g,
		      struct gt_json_writer *json)
{
	const struct gt_traffic *t = &query->workload->traffic[e];

	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_open_array(json, "ranks", GT_JSON_FLAT);
	for (uint32_t i = 0; i < t->size; i++)
		gt_json_put_int(json, NULL, t->ranks[(size_t)g * t->size + i]);
	gt_json_end(json);
	if (cost->plans[e][g])
		gt_json_put_int(
			json, "plan",
			gt_group_plans_index(query->plans, cost->plans[e][g]));
	gt_json_end(json);
}

static void put_entry(const struct gt_job_query *query,
		      const struct gt_job_cost *cost, uint32_t e,
		      struct gt_json_writer *json)
{
	const struct gt_traffic *t = &query->workload->traffic[e];

	gt_json_open_object(json, NULL, GT_JSON_LINES);
	gt_json_put_text(json, "name", t->name);
	gt_json_put_text(json, "collective", gt_coll_name(t->coll));
	gt_json_put_int(json, "bytes", (int64_t)t->bytes);
	gt_json_put_int(json, "count", (int64_t)t->count);
	gt_json_put_int(json, "phase", t->phase);
	gt_json_open_array(json, "groups", GT_JSON_LINES);
	for (uint32_t g = 0; g < t->ngroups; g++)
		put_group(query, cost, e, g, json);
	gt_json_end(json);
	gt_json_end(json);
}

static void put_phases(const struct gt_job_query *query,
		       const struct gt_job_cost *cost,
		       struct gt_json_writer *json)
{
	const struct gt_workload *w = query->workload;
	char name[NAME_MAX_BYTES];

	gt_json_open_array(json, "phases", GT_JSON_LINES);
	for (uint32_t p = 0; p < w->nphases; p++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		if (w->phases[p])
			gt_json_put_text(json, "name", w->phases[p]);
		gt_json_put_double(json, "seconds", "%.12g", cost->phase_s[p]);
		if (cost->full[p] != SIZE_MAX) {
			gt_job_link_name(query->links, cost->full[p], name,
					 sizeof(name));
			gt_json_put_text(json, "full", name);
		}
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* Every link that carries something, and what each entry puts on it. */
static void put_links(const struct gt_job_query *query,
		      const struct gt_job_cost *cost,
		      struct gt_json_writer *json)
{
	char name[NAME_MAX_BYTES];

	gt_json_open_array(json, "links", GT_JSON_LINES);
	for (size_t link = 0; link < cost->nlinks; link++) {
		if (cost->gbs[link] <= 0)
			continue;
		gt_job_link_name(query->links, link, name, sizeof(name));
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "link", name);
		gt_json_put_double(json, "gbs", "%.12g", cost->gbs[link]);
		gt_json_open_array(json, "bytes", GT_JSON_FLAT);
		for (uint32_t e = 0; e < query->workload->ntraffic; e++)
			gt_json_put_double(
				json, NULL, "%.12g",
				cost->bytes[e * cost->nlinks + link]);
		gt_json_end(json);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_assignment(const struct gt_job_query *query, const char *key,
			   const struct gt_assignment *made,
			   struct gt_json_writer *json)
{
	gt_json_open_object(json, key, GT_JSON_LINES);
	if (made->planned) {
		gt_json_put_double(json, "seconds", "%.12g",
				   made->cost.seconds);
		gt_json_put_double(json, "expected_s", "%.12g",
				   made->cost.expected_s);
	} else {
		gt_json_put_text(json, "unplanned", made->why.text);
	}
	gt_json_put_double(json, "bound_s", "%.12g", made->bound_s);
	put_places(query, made->place, json);
	if (made->planned) {
		put_phases(query, &made->cost, json);
		gt_json_open_array(json, "communication", GT_JSON_LINES);
		for (uint32_t e = 0; e < query->workload->ntraffic; e++)
			put_entry(query, &made->cost, e, json);
		gt_json_end(json);
		put_links(query, &made->cost, json);
	}
	gt_json_end(json);
}

static void put_plan(const struct gt_job_query *query, uint32_t index,
		     struct gt_json_writer *json)
{
	const struct gt_group_plan *group =
		gt_group_plans_at(query->plans, index);
	const struct gt_site *site = query->site;
	char name[NAME_MAX_BYTES];

	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_int(json, "plan", index);
	gt_json_put_text(json, "collective", gt_coll_name(group->place.coll));
	gt_json_put_double(json, "algbw_gbs", "%.12g", group->algbw_gbs);
	gt_json_open_array(json, "nodes", GT_JSON_FLAT);
	for (uint32_t i = 0; i < group->place.nnodes; i++) {
		gt_site_node_name(site, group->place.nodes[i], name,
				  sizeof(name));
		gt_json_put_text(json, NULL, name);
	}
	gt_json_end(json);
	gt_json_open_array(json, "gpus", GT_JSON_FLAT);
	for (uint32_t i = 0; i < group->place.ngpus; i++) {
		uint32_t gpu = gt_topo_gpu(site->topo, group->place.gpus[i]);

		gt_json_put_int(json, NULL, gt_topo_node(site->topo, gpu)->dev);
	}
	gt_json_end(json);
	gt_json_end(json);
}

void gt_job_print_json(const struct gt_job_query *query,
		       const struct gt_assign *assign, struct gt_buf *out)
{
	const struct gt_workload *w = query->workload;
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.job-report/1");
	if (w->name)
		gt_json_put_text(&json, "name", w->name);
	gt_json_put_text(&json, "machine", gt_topo_source(query->site->topo));
	gt_json_put_text(&json, "rates", gt_rates_name(query->site->rates));
	gt_json_put_int(&json, "nodes", query->site->nnodes);
	gt_json_put_int(&json, "gpus_per_node", query->site->ngpus);
	put_axes(w, &json);
	gt_json_put_double(&json, "bound_s", "%.12g", assign->bound_s);
	gt_json_put_bool(&json, "nodes_bounded", assign->joint);
	gt_json_put_int(&json, "nestings", (int64_t)assign->nnestings);
	gt_json_put_int(&json, "planned", (int64_t)assign->nplanned);
	gt_json_put_bool(&json, "complete", assign->complete);
	gt_json_open_array(&json, "plans", GT_JSON_LINES);
	for (uint32_t i = 0; i < gt_group_plans_count(query->plans); i++)
		if (gt_assign_uses(assign, w,
				   gt_group_plans_at(query->plans, i)))
			put_plan(query, i, &json);
	gt_json_end(&json);
	put_assignment(query, "assignment", &assign->best, &json);
	put_assignment(query, "by_number", &assign->by_number, &json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
