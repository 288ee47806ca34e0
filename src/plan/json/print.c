/*
 * A plan as JSON: the sections in their canonical order, and those that have no
 * file of their own: topology, links, channels.
 */
#include "plan/json/json.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/json/print_sections.h"

static void print_topology(const struct gt_plan *plan,
			   struct gt_json_writer *json)
{
	if (!plan->digest && !plan->shape_digest && !plan->source &&
	    !plan->rates)
		return;
	gt_json_open_object(json, "topology", GT_JSON_FLAT);
	gt_print_text(json, "digest", plan->digest);
	gt_print_text(json, "shape_digest", plan->shape_digest);
	gt_print_text(json, "source", plan->source);
	gt_print_text(json, "rates", plan->rates);
	gt_json_end(json);
}

static void print_link_list(const struct gt_plan *plan,
			    struct gt_json_writer *json)
{
	gt_json_open_array(json, "links", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		const struct gt_plan_link *link = &plan->links[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_print_text(json, "id", link->id);
		gt_print_text(json, "kind", link->kind);
		gt_print_rat(json, "gbs", link->gbs);
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* The paths of a flow: ranks or, in a cluster, a class of nodes and hops. */
static void print_paths(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_json_writer *json)
{
	gt_json_open_array(json, "paths", GT_JSON_LINES);
	for (uint32_t i = 0; i < channel->npaths; i++) {
		const struct gt_plan_path *path = &channel->paths[i];

		if (!plan->cluster) {
			gt_print_numbers(json, NULL, path->nranks, path->ranks);
			continue;
		}
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "class", path->class_);
		gt_print_numbers(json, "hops", path->nhops, path->hops);
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* Print the members that the shape of a channel needs beside its hops. */
static void print_graph(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_json_writer *json)
{
	uint32_t n = plan->cluster ? plan->cluster->nlocal : plan->nranks;

	switch (channel->shape) {
	case GT_SHAPE_MESH:
		break;
	case GT_SHAPE_FLOW:
		print_paths(plan, channel, json);
		break;
	case GT_SHAPE_SWITCH:
		gt_print_vertices(plan, channel, json);
		break;
	case GT_SHAPE_TEMPLATE:
		gt_print_templates(plan, channel, json);
		if (channel->lag)
			gt_json_put_int(json, "lag", channel->lag);
		break;
	case GT_SHAPE_STEPS:
		gt_json_put_int(json, "chunks", channel->nchunks);
		gt_json_put_int(json, "scratch", channel->nscratch);
		break;
	case GT_SHAPE_TREE:
		gt_json_put_int(json, "root", channel->root);
		gt_print_parents(json, "parent", n, channel->parent);
		if (plan->cluster)
			gt_json_put_bool(json, "second", channel->second);
		break;
	default:
		gt_print_numbers(json, "order", channel->norder,
				 channel->order);
	}
}

static void print_hop(const struct gt_plan *plan, const struct gt_plan_hop *hop,
		      struct gt_json_writer *json)
{
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_int(json, "from", hop->from);
	gt_json_put_int(json, "to", hop->to);
	gt_json_put_text(json, "transport", gt_transport_name(hop->transport));
	gt_print_links(plan, json, "route", hop->nroute, hop->route);
	gt_print_charge(json, hop->charge);
	if (hop->network)
		gt_json_put_bool(json, "network", 1);
	gt_json_end(json);
}

/* Hops that the plan lists itself are numbers here, all on one line. */
static void print_hops(const struct gt_plan *plan,
		       const struct gt_plan_channel *channel,
		       struct gt_json_writer *json)
{
	int common = channel->nhops && channel->hops[0].common;

	gt_json_open_array(json, "hops", common ? GT_JSON_FLAT : GT_JSON_LINES);
	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (hop->common)
			gt_json_put_int(json, NULL, hop->common - 1);
		else
			print_hop(plan, hop, json);
	}
	gt_json_end(json);
}

static void print_common(const struct gt_plan *plan,
			 struct gt_json_writer *json)
{
	if (!plan->ncommon)
		return;
	gt_json_open_array(json, "hops", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->ncommon; i++)
		print_hop(plan, &plan->common[i], json);
	gt_json_end(json);
}

static void print_channels(const struct gt_plan *plan,
			   struct gt_json_writer *json)
{
	gt_json_open_array(json, "channels", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		gt_json_open_object(json, NULL, GT_JSON_LINES);
		gt_json_put_int(json, "id", channel->id);
		gt_json_put_text(json, "shape", gt_shape_name(channel->shape));
		print_graph(plan, channel, json);
		gt_print_rat(json, "share", channel->share);
		gt_print_rat(json, "gbs", channel->gbs);
		gt_json_put_double(json, "bw_gbs", "%.6g",
				   gt_rat_double(channel->gbs));
		if (channel->shape != GT_SHAPE_SWITCH)
			print_hops(plan, channel, json);
		gt_json_end(json);
	}
	gt_json_end(json);
}

int gt_plan_print(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err)
{
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.plan/1");
	print_topology(plan, &json);
	gt_json_put_text(&json, "collective", gt_coll_name(plan->coll));
	if (plan->root)
		gt_json_put_int(&json, "root", plan->root);
	if (plan->out_of_place)
		gt_json_put_bool(&json, "out_of_place", 1);
	if (plan->invariant)
		gt_json_put_bool(&json, "invariant", 1);
	if (plan->cluster)
		gt_print_cluster(plan, &json);
	else
		gt_print_ranks(&json, plan->nranks, plan->ranks, 1);
	gt_print_demand(plan, &json);
	print_link_list(plan, &json);
	print_common(plan, &json);
	print_channels(plan, &json);
	gt_print_proof(plan, &json);
	gt_json_open_object(&json, "fifo", GT_JSON_FLAT);
	gt_json_put_int(&json, "slots", plan->fifo_slots);
	gt_json_put_int(&json, "slice_bytes", plan->fifo_slice_bytes);
	gt_json_end(&json);
	gt_print_select(plan, &json);
	gt_print_measurements(plan, &json);
	gt_print_programs(plan, &json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
	return out->failed ? gt_err_nomem(err) : GT_OK;
}
