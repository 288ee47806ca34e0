/* A graph file for NCCL from a plan of rings or chains within one node. */
#include "plan/interop/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
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
 * With more channels NCCL would not use them all; with fewer, blocks lie idle.
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

static uint32_t gt_nccl_count(const struct gt_plan_channel *channel,
			      double speed)
{
	return (uint32_t)(gt_rat_double(channel->gbs) / speed + 1e-9);
}

static uint32_t gt_nccl_total(const struct gt_plan *plan,
			      const struct gt_plan_select *row, double speed)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < row->nchannels; i++)
		total +=
			gt_nccl_count(&plan->channels[row->channels[i]], speed);
	return total;
}

/*
 * Choose one of the speeds that NCCL's own search tries: that which wastes
 * least of the plan's bandwidth, then that with the most channels.
 */
static double gt_nccl_speed(const struct gt_plan *plan,
			    const struct gt_plan_select *row)
{
	static const double speeds[] = {60, 50,  40, 30,  24,  20,   18,  15,
					12, 11,  10, 9,   7,   6,    5,   4,
					3,  2.4, 2,  1.2, 0.5, 0.24, 0.12};
	double best = 0, most = 0;

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		uint32_t n = gt_nccl_total(plan, row, speeds[i]);

		if (n > GT_NCCL_CHANNELS && best > 0)
			break;
		if (n * speeds[i] < most * 0.999)
			continue;
		most = n * speeds[i];
		if (n)
			best = speeds[i];
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
	for (uint32_t i = 1; i < plan->nranks; i++)
		if (strcmp(plan->ranks[i].node ? plan->ranks[i].node : "",
			   plan->ranks[0].node ? plan->ranks[0].node : ""))
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "NCCL's graph files are of one node");
	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];

		if (!channel->norder ||
		    channel->shape != plan->channels[row->channels[0]].shape)
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "channel %" PRIu32 ": NCCL's graph "
					  "files are of rings, or of chains",
					  channel->id);
	}
	return GT_OK;
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
	double speed;

	if (rc)
		return rc;
	ring = plan->channels[row->channels[0]].shape == GT_SHAPE_RING;
	speed = gt_nccl_speed(plan, row);
	if (speed <= 0)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "no channel is as fast as the slowest that "
				  "NCCL knows");
	gt_buf_printf(out,
		      "<graphs version=\"1\">\n"
		      "  <graph id=\"%d\" pattern=\"%d\" crossnic=\"0\" "
		      "nchannels=\"%" PRIu32 "\" speedintra=\"%g\" "
		      "speedinter=\"%g\" latencyinter=\"0\" typeintra=\"%s\" "
		      "typeinter=\"PIX\" samechannels=\"%d\">\n",
		      ring ? 0 : 1, ring ? 4 : 3,
		      gt_nccl_total(plan, row, speed), speed, speed,
		      gt_nccl_type(plan, row), row->nchannels == 1);
	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];
		uint32_t n = gt_nccl_count(channel, speed);

		for (uint32_t k = 0; k < n; k++)
			gt_nccl_channel(plan, channel, out);
	}
	gt_buf_puts(out, "  </graph>\n</graphs>\n");
	return out->failed ? gt_err_nomem(err) : GT_OK;
}
