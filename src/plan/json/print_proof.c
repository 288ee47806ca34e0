/* The proof in a plan's file: what it claims, then the certificate. */
#include "plan/json/print_sections.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum { GT_UPLINK_TEXT_MAX = 40 };

/*
 * The price of a link is listed by its id.  An uplink out of the switch of
 * level 0 and rail 3 is called "switch0.3>", the one into it ">switch0.3".
 */
static const char *price_name(const struct gt_plan *plan, uint32_t link,
			      char text[GT_UPLINK_TEXT_MAX])
{
	uint32_t up = link - plan->nlinks, rails;

	if (link < plan->nlinks)
		return plan->links[link].id;
	rails = plan->cluster->nrails;
	snprintf(text, GT_UPLINK_TEXT_MAX, "%sswitch%" PRIu32 ".%" PRIu32 "%s",
		 up % 2 ? ">" : "", up / 2 / rails, up / 2 % rails,
		 up % 2 ? "" : ">");
	return text;
}

static void print_prices(const struct gt_plan *plan,
			 struct gt_json_writer *json, uint32_t n,
			 const struct gt_plan_price *prices)
{
	char text[GT_UPLINK_TEXT_MAX];

	for (uint32_t i = 0; i < n; i++)
		gt_print_rat(json, price_name(plan, prices[i].link, text),
			     prices[i].price);
}

/* An end of a route is a rank or, in a cluster, a port. */
static void print_end(const struct gt_plan *plan, struct gt_json_writer *json,
		      const char *rank_key, const char *port_key, uint32_t end)
{
	uint32_t n = plan->cluster ? plan->cluster->nlocal : plan->nranks;

	if (end < n)
		gt_json_put_int(json, rank_key, end);
	else
		gt_json_put_int(json, port_key, end - n);
}

static void print_routes(const struct gt_plan *plan,
			 struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_json_open_array(json, "routes", GT_JSON_LINES);
	for (uint32_t i = 0; i < proof->nroutes; i++) {
		const struct gt_plan_route *route = &proof->routes[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		print_end(plan, json, "from", "from_port", route->from);
		print_end(plan, json, "to", "to_port", route->to);
		gt_print_links(plan, json, "route", route->nlinks,
			       route->links);
		if (route->is_staged)
			gt_json_put_bool(json, "staged", 1);
		gt_print_charge(json, route->charge);
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* One object of prices for each number of equal rings. */
static void print_equal(const struct gt_plan *plan, struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_json_open_array(json, "equal", GT_JSON_LINES);
	for (uint32_t k = 0; k < proof->nequal; k++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		print_prices(plan, json, proof->equal[k].n,
			     proof->equal[k].list);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void print_parts(const struct gt_plan *plan, struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_json_open_array(json, "parts", GT_JSON_LINES);
	for (uint32_t i = 0; i < proof->nparts; i++) {
		const struct gt_plan_part *part = &proof->parts[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_print_numbers(json, "ranks", part->nranks, part->ranks);
		gt_print_links(plan, json, "links", part->nlinks, part->links);
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* The sets of vertices that a cluster's proof has in place of parts. */
static void print_sets(const struct gt_plan *plan, struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_json_open_array(json, "sets", GT_JSON_LINES);
	for (uint32_t i = 0; i < proof->nsets; i++) {
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t k = 0; k < proof->sets[i].n; k++)
			gt_json_put_text(json, NULL,
					 proof->sets[i].vertices[k]);
		gt_json_end(json);
	}
	gt_json_end(json);
	if (proof->nunused)
		gt_print_links(plan, json, "unused", proof->nunused,
			       proof->unused);
}

static void print_certificate(const struct gt_plan *plan,
			      struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (!proof->nprices && !proof->nroutes && !proof->nparts &&
	    !proof->nsets && !proof->max_channels && !proof->nequal)
		return;
	gt_json_open_object(json, "certificate", GT_JSON_LINES);
	if (proof->nprices) {
		gt_json_open_object(json, "prices", GT_JSON_LINES);
		print_prices(plan, json, proof->nprices, proof->prices);
		gt_json_end(json);
	}
	if (proof->max_channels)
		gt_print_rat(json, "channel_price", proof->channel_price);
	if (proof->relays)
		gt_json_put_bool(json, "relays", 1);
	if (proof->nroutes)
		print_routes(plan, json);
	if (proof->nequal)
		print_equal(plan, json);
	if (proof->nparts)
		print_parts(plan, json);
	if (proof->nsets)
		print_sets(plan, json);
	gt_json_end(json);
}

void gt_print_proof(const struct gt_plan *plan, struct gt_json_writer *json)
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (!plan->has_proof)
		return;
	gt_json_open_object(json, "proof", GT_JSON_LINES);
	gt_json_put_text(json, "class", gt_proof_name(proof->class_));
	gt_json_put_double(json, "algbw_gbs", "%.6g",
			   gt_plan_algbw(plan, proof->value));
	gt_json_put_double(json, "busbw_gbs", "%.6g",
			   gt_plan_busbw(plan, proof->value));
	gt_print_rat(json, "value", proof->value);
	gt_print_rat(json, "bound", proof->bound);
	gt_json_put_bool(json, "optimal", proof->optimal);
	gt_json_put_double(json, "gap", "%.6g", gt_plan_gap(plan));
	if (proof->max_channels)
		gt_json_put_int(json, "max_channels", proof->max_channels);
	if (proof->has_any_bound)
		gt_print_rat(json, "any_bound", proof->any_bound);
	print_certificate(plan, json);
	gt_json_end(json);
}
