#include "plan/json/print.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/json/print_sections.h"

/* Things that recur stand one on a line, so that plans diff well. */
static void gt_print_between(struct gt_buf *out, uint32_t i, const char *indent)
{
	gt_buf_printf(out, "%s\n%s", i ? "," : "", indent);
}

static void gt_print_end(struct gt_buf *out, uint32_t n, const char *indent)
{
	if (n)
		gt_buf_printf(out, "\n%s", indent);
	gt_buf_puts(out, "]");
}

/* An optional member; `*first` tells whether a comma is needed. */
static void gt_print_text(struct gt_buf *out, int *first, const char *key,
			  const char *text)
{
	if (!text)
		return;
	gt_buf_printf(out, "%s\"%s\": ", *first ? "" : ", ", key);
	gt_json_quote(out, text);
	*first = 0;
}

static void gt_print_rat(struct gt_buf *out, const char *key, struct gt_rat rat)
{
	char text[GT_RAT_TEXT_MAX];

	gt_buf_printf(out, "\"%s\": \"%s\"", key, gt_rat_print(rat, text));
}

static void gt_print_numbers(struct gt_buf *out, uint32_t n,
			     const uint32_t *numbers)
{
	gt_buf_puts(out, "[");
	for (uint32_t i = 0; i < n; i++)
		gt_buf_printf(out, "%s%" PRIu32, i ? ", " : "", numbers[i]);
	gt_buf_puts(out, "]");
}

static void gt_print_links(const struct gt_plan *plan, struct gt_buf *out,
			   uint32_t n, const uint32_t *links)
{
	gt_buf_puts(out, "[");
	for (uint32_t i = 0; i < n; i++) {
		gt_buf_puts(out, i ? ", " : "");
		gt_json_quote(out, plan->links[links[i]].id);
	}
	gt_buf_puts(out, "]");
}

static void gt_print_charge(struct gt_buf *out, struct gt_rat charge)
{
	if (!gt_rat_cmp(charge, GT_RAT(1, 1)))
		return;
	gt_buf_puts(out, ", ");
	gt_print_rat(out, "charge", charge);
}

static void gt_print_topology(const struct gt_plan *plan, struct gt_buf *out)
{
	int first = 1;

	if (!plan->digest && !plan->shape_digest && !plan->source &&
	    !plan->rates)
		return;
	gt_buf_puts(out, "  \"topology\": {");
	gt_print_text(out, &first, "digest", plan->digest);
	gt_print_text(out, &first, "shape_digest", plan->shape_digest);
	gt_print_text(out, &first, "source", plan->source);
	gt_print_text(out, &first, "rates", plan->rates);
	gt_buf_puts(out, "},\n");
}

static void gt_print_ranks(const struct gt_plan *plan, struct gt_buf *out)
{
	gt_buf_puts(out, "  \"ranks\": [");
	for (uint32_t i = 0; i < plan->nranks; i++) {
		const struct gt_plan_rank *rank = &plan->ranks[i];
		int first = 0;

		gt_print_between(out, i, "    ");
		gt_buf_printf(out, "{\"rank\": %" PRIu32, i);
		gt_print_text(out, &first, "node", rank->node);
		gt_print_text(out, &first, "device", rank->device);
		if (rank->has_dev)
			gt_buf_printf(out, ", \"dev\": %" PRIu32, rank->dev);
		gt_print_text(out, &first, "name", rank->name);
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, plan->nranks, "  ");
	gt_buf_puts(out, ",\n");
}

static void gt_print_link_list(const struct gt_plan *plan, struct gt_buf *out)
{
	gt_buf_puts(out, "  \"links\": [");
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		const struct gt_plan_link *link = &plan->links[i];
		int first = 1;

		gt_print_between(out, i, "    ");
		gt_buf_puts(out, "{");
		gt_print_text(out, &first, "id", link->id);
		gt_print_text(out, &first, "kind", link->kind);
		gt_buf_puts(out, ", ");
		gt_print_rat(out, "gbs", link->gbs);
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, plan->nlinks, "  ");
	gt_buf_puts(out, ",\n");
}

static void gt_print_paths(const struct gt_plan *plan,
			   const struct gt_plan_channel *channel,
			   struct gt_buf *out)
{
	gt_buf_puts(out, "      \"paths\": [");
	for (uint32_t i = 0; i < channel->npaths; i++) {
		const struct gt_plan_path *path = &channel->paths[i];

		gt_print_between(out, i, "        ");
		if (!plan->cluster) {
			gt_print_numbers(out, path->nranks, path->ranks);
			continue;
		}
		gt_buf_printf(out, "{\"class\": %" PRIu32 ", \"hops\": ",
			      path->class_);
		gt_print_numbers(out, path->nhops, path->hops);
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, channel->npaths, "      ");
	gt_buf_puts(out, ",\n");
}

static void gt_print_graph(const struct gt_plan *plan,
			   const struct gt_plan_channel *channel,
			   struct gt_buf *out)
{
	uint32_t n = plan->cluster ? plan->cluster->nlocal : plan->nranks;

	if (channel->shape == GT_SHAPE_MESH)
		return;
	if (channel->shape == GT_SHAPE_FLOW) {
		gt_print_paths(plan, channel, out);
		return;
	}
	if (channel->shape == GT_SHAPE_TEMPLATE) {
		gt_print_templates(plan, channel, out);
		return;
	}
	if (channel->shape == GT_SHAPE_STEPS) {
		gt_buf_printf(out,
			      "      \"chunks\": %" PRIu32
			      ",\n      \"scratch\": %" PRIu32 ",\n",
			      channel->nchunks, channel->nscratch);
		return;
	}
	if (channel->shape != GT_SHAPE_TREE) {
		gt_buf_puts(out, "      \"order\": ");
		gt_print_numbers(out, channel->norder, channel->order);
		gt_buf_puts(out, ",\n");
		return;
	}
	gt_buf_printf(out, "      \"root\": %" PRIu32 ",\n      \"parent\": [",
		      channel->root);
	for (uint32_t i = 0; i < n; i++)
		gt_buf_printf(out, "%s%" PRId32, i ? ", " : "",
			      channel->parent[i]);
	gt_buf_puts(out, "],\n");
	if (plan->cluster)
		gt_buf_printf(out, "      \"second\": %s,\n",
			      channel->second ? "true" : "false");
}

static void gt_print_hops(const struct gt_plan *plan,
			  const struct gt_plan_channel *channel,
			  struct gt_buf *out)
{
	gt_buf_puts(out, "      \"hops\": [");
	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		gt_print_between(out, i, "        ");
		gt_buf_printf(out,
			      "{\"from\": %" PRIu32 ", \"to\": %" PRIu32
			      ", \"transport\": \"%s\", \"route\": ",
			      hop->from, hop->to,
			      gt_transport_name(hop->transport));
		gt_print_links(plan, out, hop->nroute, hop->route);
		gt_print_charge(out, hop->charge);
		gt_buf_puts(out, hop->network ? ", \"network\": true}" : "}");
	}
	gt_print_end(out, channel->nhops, "      ");
	gt_buf_puts(out, "\n");
}

static void gt_print_channels(const struct gt_plan *plan, struct gt_buf *out)
{
	gt_buf_puts(out, "  \"channels\": [");
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		gt_print_between(out, i, "    ");
		gt_buf_printf(out,
			      "{\n      \"id\": %" PRIu32
			      ",\n      \"shape\": \"%s\",\n",
			      channel->id, gt_shape_name(channel->shape));
		gt_print_graph(plan, channel, out);
		gt_buf_puts(out, "      ");
		gt_print_rat(out, "share", channel->share);
		gt_buf_puts(out, ",\n      ");
		gt_print_rat(out, "gbs", channel->gbs);
		gt_buf_printf(out, ",\n      \"bw_gbs\": %.6g,\n",
			      gt_rat_double(channel->gbs));
		gt_print_hops(plan, channel, out);
		gt_buf_puts(out, "    }");
	}
	gt_print_end(out, plan->nchannels, "  ");
}

static void gt_print_prices(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	char text[GT_RAT_TEXT_MAX];

	gt_buf_puts(out, "      \"prices\": {");
	for (uint32_t i = 0; i < proof->nprices; i++) {
		gt_print_between(out, i, "        ");
		if (proof->prices[i].link < plan->nlinks)
			gt_json_quote(out,
				      plan->links[proof->prices[i].link].id);
		else
			gt_print_uplink(plan, proof->prices[i].link, out);
		gt_buf_printf(out, ": \"%s\"",
			      gt_rat_print(proof->prices[i].price, text));
	}
	gt_buf_puts(out, "\n      }");
}

/* In a cluster one end may be a port. */
static void gt_print_ends(const struct gt_plan *plan,
			  const struct gt_plan_route *route, struct gt_buf *out)
{
	uint32_t n = plan->cluster ? plan->cluster->nlocal : plan->nranks;

	if (route->from < n)
		gt_buf_printf(out, "{\"from\": %" PRIu32, route->from);
	else
		gt_buf_printf(out, "{\"from_port\": %" PRIu32, route->from - n);
	if (route->to < n)
		gt_buf_printf(out, ", \"to\": %" PRIu32, route->to);
	else
		gt_buf_printf(out, ", \"to_port\": %" PRIu32, route->to - n);
}

static void gt_print_routes(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_buf_puts(out, "      \"routes\": [");
	for (uint32_t i = 0; i < proof->nroutes; i++) {
		const struct gt_plan_route *route = &proof->routes[i];

		gt_print_between(out, i, "        ");
		gt_print_ends(plan, route, out);
		gt_buf_puts(out, ", \"route\": ");
		gt_print_links(plan, out, route->nlinks, route->links);
		gt_print_charge(out, route->charge);
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, proof->nroutes, "      ");
}

static void gt_print_parts(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_buf_puts(out, "      \"parts\": [");
	for (uint32_t i = 0; i < proof->nparts; i++) {
		const struct gt_plan_part *part = &proof->parts[i];

		gt_print_between(out, i, "        ");
		gt_buf_puts(out, "{\"ranks\": ");
		gt_print_numbers(out, part->nranks, part->ranks);
		gt_buf_puts(out, ", \"links\": ");
		gt_print_links(plan, out, part->nlinks, part->links);
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, proof->nparts, "      ");
}

static void gt_print_equal(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	char text[GT_RAT_TEXT_MAX];

	gt_buf_puts(out, "      \"equal\": [");
	for (uint32_t k = 0; k < proof->nequal; k++) {
		gt_print_between(out, k, "        ");
		gt_buf_puts(out, "{");
		for (uint32_t i = 0; i < proof->equal[k].n; i++) {
			const struct gt_plan_price *price =
				&proof->equal[k].list[i];

			gt_buf_puts(out, i ? ", " : "");
			gt_json_quote(out, plan->links[price->link].id);
			gt_buf_printf(out, ": \"%s\"",
				      gt_rat_print(price->price, text));
		}
		gt_buf_puts(out, "}");
	}
	gt_print_end(out, proof->nequal, "      ");
}

static void gt_print_certificate(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	const char *between = "";

	if (!proof->nprices && !proof->nroutes && !proof->nparts &&
	    !proof->nsets && !proof->max_channels && !proof->nequal)
		return;
	gt_buf_puts(out, ",\n    \"certificate\": {\n");
	if (proof->nprices) {
		gt_print_prices(plan, out);
		between = ",\n";
	}
	if (proof->max_channels) {
		gt_buf_printf(out, "%s      ", between);
		gt_print_rat(out, "channel_price", proof->channel_price);
		between = ",\n";
	}
	if (proof->nroutes) {
		gt_buf_puts(out, between);
		gt_print_routes(plan, out);
		between = ",\n";
	}
	if (proof->nequal) {
		gt_buf_puts(out, between);
		gt_print_equal(plan, out);
		between = ",\n";
	}
	if (proof->nparts) {
		gt_buf_puts(out, between);
		gt_print_parts(plan, out);
		between = ",\n";
	}
	if (proof->nsets) {
		gt_buf_puts(out, between);
		gt_print_sets(plan, out);
	}
	gt_buf_puts(out, "\n    }");
}

/* The result's rate for people, by nccl-tests' definition: bytes / time. */
static double gt_print_algbw(const struct gt_plan *plan)
{
	return gt_rat_double(plan->proof.value) *
	       gt_rat_double(gt_plan_algbw_factor(plan));
}

static void gt_print_proof(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double bound = gt_rat_double(proof->bound);

	if (!plan->has_proof)
		return;
	gt_buf_printf(out,
		      ",\n  \"proof\": {\n    \"class\": \"%s\",\n"
		      "    \"algbw_gbs\": %.6g,\n    ",
		      gt_proof_name(proof->class_), gt_print_algbw(plan));
	gt_print_rat(out, "value", proof->value);
	gt_buf_puts(out, ",\n    ");
	gt_print_rat(out, "bound", proof->bound);
	gt_buf_printf(out, ",\n    \"optimal\": %s,\n    \"gap\": %.6g",
		      proof->optimal ? "true" : "false",
		      bound > 0 ? 1 - gt_rat_double(proof->value) / bound
				: 0.0);
	if (proof->max_channels)
		gt_buf_printf(out, ",\n    \"max_channels\": %" PRIu32,
			      proof->max_channels);
	if (proof->has_any_bound) {
		gt_buf_puts(out, ",\n    ");
		gt_print_rat(out, "any_bound", proof->any_bound);
	}
	gt_print_certificate(plan, out);
	gt_buf_puts(out, "\n  }");
}

int gt_plan_print(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err)
{
	gt_buf_puts(out, "{\n  \"schema\": \"gtopo.plan/1\",\n");
	gt_print_topology(plan, out);
	gt_buf_printf(out, "  \"collective\": \"%s\",\n",
		      gt_coll_name(plan->coll));
	if (plan->root)
		gt_buf_printf(out, "  \"root\": %" PRIu32 ",\n", plan->root);
	if (plan->cluster)
		gt_print_cluster(plan, out);
	else
		gt_print_ranks(plan, out);
	gt_print_link_list(plan, out);
	gt_print_channels(plan, out);
	gt_print_proof(plan, out);
	gt_buf_printf(out,
		      ",\n  \"fifo\": {\"slots\": %" PRIu32
		      ", \"slice_bytes\": %" PRIu32 "}",
		      plan->fifo_slots, plan->fifo_slice_bytes);
	gt_print_select(plan, out);
	gt_print_measurements(plan, out);
	gt_print_programs(plan, out);
	gt_buf_puts(out, "\n}\n");
	return out->failed ? gt_err_nomem(err) : GT_OK;
}
