/*
 * A graph file for NCCL from a plan of rings or chains within one node, or of
 * switches that multicast and add up.
 */
#include "plan/interop/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/interop/export_nccl_switch.h"
#include "plan/ir/plan.h"

/*
 * NCCL's kinds of paths, best first.  C2C is not in the dictionary of its
 * reader; like NVL it is neither PCI nor a network.
 */
enum gt_nccl_path {
	GT_NCCL_NVL,
	GT_NCCL_NVB,
	GT_NCCL_PIX,
	GT_NCCL_PXB,
	GT_NCCL_PHB,
	GT_NCCL_SYS,
};

/*
 * NCCL doubles the channels of a graph up to 32: with more than 16 it would not
 * use them all, with fewer blocks lie idle.
 */
enum { GT_NCCL_CHANNELS = 16 };

static int gt_nccl_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * The kind of path that the channels take, from the kinds of links and, as
 * gtopo names them, the nodes between.
 */
static enum gt_nccl_path gt_nccl_path(const struct gt_plan *plan,
				      const struct gt_plan_hop *hop)
{
	enum gt_nccl_path path = GT_NCCL_NVL;
	uint32_t npci = 0;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		const struct gt_plan_link *link = &plan->links[hop->route[i]];
		const char *kind = link->kind ? link->kind : "";
		const char *to = strchr(link->id, '>');

		npci += !strcmp(kind, "PCI");
		if (!strcmp(kind, "SYS"))
			return GT_NCCL_SYS;
		if (to && gt_nccl_starts(to, ">CPU/"))
			path = GT_NCCL_PHB;
		else if (to && i + 1 < hop->nroute && path < GT_NCCL_NVB &&
			 gt_nccl_starts(to, ">GPU/"))
			path = GT_NCCL_NVB;
	}
	if (npci > 2 && path < GT_NCCL_PXB)
		path = GT_NCCL_PXB;
	else if (npci && path < GT_NCCL_PIX)
		path = GT_NCCL_PIX;
	return path;
}

static const char *gt_nccl_type(const struct gt_plan *plan,
				const struct gt_plan_select *row)
{
	static const char *const names[] = {"NVL", "NVB", "PIX",
					    "PXB", "PHB", "SYS"};
	enum gt_nccl_path worst = GT_NCCL_NVL;

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nhops; i++) {
			enum gt_nccl_path path =
				gt_nccl_path(plan, &channel->hops[i]);

			if (path > worst)
				worst = path;
		}
	}
	return names[worst];
}

/* So many whole channels of that speed a channel of the plan makes. */
static uint32_t gt_nccl_count(const struct gt_plan_channel *channel,
			      double speed)
{
	return (uint32_t)(gt_rat_double(channel->gbs) / speed + 1e-9);
}

static uint32_t gt_nccl_total(const struct gt_plan *plan,
			      const struct gt_plan_select *row, double speed)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < row->nchannels && total < GT_NCCL_CHANNELS;
	     i++)
		total +=
			gt_nccl_count(&plan->channels[row->channels[i]], speed);
	return total < GT_NCCL_CHANNELS ? total : GT_NCCL_CHANNELS;
}

/*
 * NCCL reads a float; five decimals, rounded down, are no more than there is.
 */
static double gt_nccl_round(double speed)
{
	return floor(speed * 1e5 + 1e-6) / 1e5;
}

/*
 * NCCL's channels are all of one speed.  Choose a whole part of some channel of
 * the plan: that which loses least of the plan's bandwidth in as many channels
 * as NCCL uses, then that with the most channels.
 */
static double gt_nccl_speed(const struct gt_plan *plan,
			    const struct gt_plan_select *row)
{
	double best = 0, most = 0;

	for (uint32_t i = 0; i < row->nchannels; i++)
		for (int parts = 1; parts <= GT_NCCL_CHANNELS; parts++) {
			const struct gt_plan_channel *channel =
				&plan->channels[row->channels[i]];
			double speed = gt_nccl_round(
				gt_rat_double(channel->gbs) / parts);
			double all;

			if (speed <= 0)
				break;
			all = speed * gt_nccl_total(plan, row, speed);
			if (all < most * 0.9999 ||
			    (all <= most * 1.0001 && speed >= best && best > 0))
				continue;
			most = all;
			best = speed;
		}
	return best;
}

static int gt_nccl_can(const struct gt_plan *plan,
		       const struct gt_plan_select *row, struct gt_err *err)
{
	for (uint32_t i = 0; i < plan->nranks; i++)
		if (!plan->ranks[i].has_dev)
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "rank %" PRIu32 " has no 'dev', the "
					  "number that NCCL knows a GPU by",
					  i);
	for (uint32_t i = 1; row->algo != GT_ALGO_COLLNET && i < plan->nranks;
	     i++)
		if (strcmp(plan->ranks[i].node ? plan->ranks[i].node : "",
			   plan->ranks[0].node ? plan->ranks[0].node : ""))
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "NCCL's graph files are of one node");
	for (uint32_t i = 0; !gt_plan_uses_switches(plan) && i < row->nchannels;
	     i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];

		if (!channel->norder ||
		    channel->shape != plan->channels[row->channels[0]].shape)
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "channel %" PRIu32 ": NCCL's graph "
					  "files are of rings, or of chains; "
					  "'gtopo search --algo ring' makes "
					  "a plan of rings",
					  channel->id);
	}
	return GT_OK;
}

/* The least rate of all channels, which NCCL gives to each. */
static double gt_nccl_least(const struct gt_plan *plan,
			    const struct gt_plan_select *row)
{
	double least = HUGE_VAL;

	for (uint32_t i = 0; i < row->nchannels; i++)
		least = fmin(
			least,
			gt_rat_double(plan->channels[row->channels[i]].gbs));
	return gt_nccl_round(least);
}

static int gt_export_switches(const struct gt_plan *plan, struct gt_buf *out,
			      struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	int rc;

	gt_buf_puts(out, "<graphs version=\"1\">\n");
	rc = gt_nccl_switch_graphs(plan, gt_nccl_least(plan, row), out, err);
	gt_buf_puts(out, "</graphs>\n");
	return !rc && out->failed ? gt_err_nomem(err) : rc;
}

/*
 * Name GPUs by device alone: whoever loads the file may number ranks otherwise.
 */
static void gt_nccl_channel(const struct gt_plan *plan,
			    const struct gt_plan_channel *channel,
			    struct gt_buf *out)
{
	gt_buf_puts(out, "    <channel>\n");
	for (uint32_t i = 0; i < channel->norder; i++)
		gt_buf_printf(out, "      <gpu dev=\"0x%" PRIx32 "\"/>\n",
			      plan->ranks[channel->order[i]].dev);
	gt_buf_puts(out, "    </channel>\n");
}

int gt_export_nccl(const struct gt_plan *plan, struct gt_buf *out,
		   struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	int rc = gt_nccl_can(plan, row, err), ring;
	uint32_t left;
	double speed;

	if (rc || gt_plan_uses_switches(plan))
		return rc ? rc : gt_export_switches(plan, out, err);
	ring = plan->channels[row->channels[0]].shape == GT_SHAPE_RING;
	speed = gt_nccl_speed(plan, row);
	if (speed <= 0)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "no channel is as fast as 0.00001 GB/s, the "
				  "least that is written");
	left = gt_nccl_total(plan, row, speed);
	gt_buf_printf(out,
		      "<graphs version=\"1\">\n"
		      "  <graph id=\"%d\" pattern=\"%d\" crossnic=\"0\" "
		      "nchannels=\"%" PRIu32 "\" speedintra=\"%.9g\" "
		      "speedinter=\"%.9g\" latencyinter=\"0\" typeintra=\"%s\" "
		      "typeinter=\"PIX\" samechannels=\"%d\">\n",
		      ring ? 0 : 1, ring ? 4 : 3, left, speed, speed,
		      gt_nccl_type(plan, row), row->nchannels == 1);
	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];
		uint32_t n = gt_nccl_count(channel, speed);

		for (uint32_t k = 0; k < n && left; k++, left--)
			gt_nccl_channel(plan, channel, out);
	}
	gt_buf_puts(out, "  </graph>\n</graphs>\n");
	return out->failed ? gt_err_nomem(err) : GT_OK;
}

void gt_export_nccl_loss(const struct gt_plan *plan,
			 struct gt_export_nccl_loss *loss)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	double of = 0, carries;

	if (gt_plan_uses_switches(plan)) {
		loss->channel_gbs = gt_nccl_least(plan, row);
		loss->nchannels = row->nchannels;
	} else {
		loss->channel_gbs = gt_nccl_speed(plan, row);
		loss->nchannels = gt_nccl_total(plan, row, loss->channel_gbs);
	}
	carries = loss->channel_gbs * loss->nchannels;
	for (uint32_t i = 0; i < row->nchannels; i++)
		of += gt_rat_double(plan->channels[row->channels[i]].gbs);
	loss->part = carries < of ? 1 - carries / of : 0;
}
