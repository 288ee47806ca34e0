/* A plan as a picture for Graphviz. */
#include "plan/interop/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/*
 * The hue of a channel: hues are far apart for any number of channels
 * (multiples of the golden ratio).
 */
static double gt_dot_hue(uint32_t i)
{
	double hue = 0.58 + 0.6180339887 * i;

	return hue - (double)(long)hue;
}

static void gt_dot_rank(const struct gt_plan *plan, uint32_t i,
			struct gt_buf *out)
{
	const struct gt_plan_rank *rank = &plan->ranks[i];

	struct gt_buf device = GT_BUF_INIT;

	gt_json_quote(&device, rank->device ? rank->device : "");
	out->failed |= device.failed;
	/* Graphviz escapes as JSON does, but for the line break. */
	gt_buf_printf(out, "\t\tr%" PRIu32 " [label=\"%" PRIu32 "\\n%s];\n", i,
		      i, gt_buf_text(&device) ? gt_buf_text(&device) + 1 : "");
	gt_buf_release(&device);
}

static int gt_dot_same_node(const struct gt_plan *plan, uint32_t a, uint32_t b)
{
	const char *x = plan->ranks[a].node, *y = plan->ranks[b].node;

	return x == y || (x && y && !strcmp(x, y));
}

/* Ranks of a node stand next to each other, as in the plan. */
static void gt_dot_ranks(const struct gt_plan *plan, struct gt_buf *out)
{
	for (uint32_t i = 0; i < plan->nranks; i++) {
		if (!i || !gt_dot_same_node(plan, i - 1, i)) {
			gt_buf_printf(out,
				      "%s\tsubgraph cluster_%" PRIu32 " {\n",
				      i ? "\t}\n" : "", i);
			gt_buf_puts(out, "\t\tlabel=");
			gt_json_quote(out, plan->ranks[i].node
						   ? plan->ranks[i].node
						   : "");
			gt_buf_puts(out, ";\n");
		}
		gt_dot_rank(plan, i, out);
	}
	gt_buf_puts(out, "\t}\n");
}

static void gt_dot_channel(const struct gt_plan *plan, uint32_t index,
			   struct gt_buf *out)
{
	const struct gt_plan_channel *channel = &plan->channels[index];
	uint32_t n = plan->cluster ? plan->cluster->nlocal : 0;

	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];
		/* Two nodes of a ring are drawn, if it alternates. */
		uint32_t from = hop->from + (channel->norder && i >= n ? n : 0);
		uint32_t to = from - hop->from + hop->to;

		if (hop->network)
			to = (to + n) % plan->nranks;

		gt_buf_printf(out,
			      "\tr%" PRIu32 " -> r%" PRIu32
			      " [color=\"%.3f 0.8 0.7\", tooltip=\"channel "
			      "%" PRIu32 ": %s, %g GB/s busbw\"",
			      from, to, gt_dot_hue(index), channel->id,
			      gt_shape_name(channel->shape),
			      gt_plan_channel_busbw(plan, index));
		if (!i)
			gt_buf_printf(out,
				      ", label=\"%g\", fontcolor=\"%.3f 0.8 "
				      "0.6\"",
				      gt_plan_channel_busbw(plan, index),
				      gt_dot_hue(index));
		gt_buf_puts(out, "];\n");
	}
}

int gt_export_dot(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);

	gt_buf_printf(out, "digraph plan {\n\tlabel=\"%s",
		      gt_coll_name(plan->coll));
	/* Without a proof, as of imported plans, no rate is known. */
	if (plan->has_proof)
		gt_buf_printf(out, ": %g GB/s busbw",
			      gt_plan_busbw(plan, plan->proof.value));
	gt_buf_puts(out, "\";\n\tlayout=circo;\n\tnode [shape=box];\n");
	gt_dot_ranks(plan, out);
	for (uint32_t i = 0; i < row->nchannels; i++)
		gt_dot_channel(plan, row->channels[i], out);
	gt_buf_puts(out, "}\n");
	return out->failed ? gt_err_nomem(err) : GT_OK;
}
