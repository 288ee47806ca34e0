/*
 * NCCL's search for NVLS counts a channel once on the NVLinks of each GPU and
 * twice on those of its head (src/graph/search.cc), which is what a tree of a
 * plan loads: so a channel is a tree, and its head the rank that drives.
 */
#include "plan/interop/export_nccl_switch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/ir/plan.h"

enum {
	NVLS_ID = 3,
	NVLS_PATTERN = 5,
	COLLNET_ID = 4,
	COLLNET_PATTERN = 6,
	NO_PORT = -1,
};

/* The first vertex that drives: the head on the first node. */
static const struct gt_plan_vertex *find_head(
	const struct gt_plan_channel *channel)
{
	for (uint32_t i = 0; i < channel->nvertices; i++)
		if (channel->vertices[i].drives)
			return &channel->vertices[i];
	return NULL;
}

/* The number of the port on a head's way into the network, or NO_PORT. */
static int find_port(const struct gt_plan *plan,
		     const struct gt_plan_vertex *head)
{
	int port;

	for (uint32_t i = 0; i < head->nup; i++) {
		const char *to = strstr(plan->links[head->up[i]].id, ">NET/");

		if (to && sscanf(to, ">NET/%d", &port) == 1 && port >= 0)
			return port;
	}
	return NO_PORT;
}

static void add_port(int port, struct gt_buf *out)
{
	if (port != NO_PORT)
		gt_buf_printf(out, "      <net dev=\"%d\"/>\n", port);
}

static void add_gpu(const struct gt_plan *plan, uint32_t rank,
		    struct gt_buf *out)
{
	gt_buf_printf(out, "      <gpu dev=\"0x%" PRIx32 "\"/>\n",
		      plan->ranks[rank].dev);
}

/* Is it a rank beside the head on the head's node? */
static int is_beside(const struct gt_plan *plan, uint32_t rank, uint32_t head)
{
	const char *a = plan->ranks[rank].node, *b = plan->ranks[head].node;

	return rank != head && !strcmp(a ? a : "", b ? b : "");
}

/* A channel of CollNet has all GPUs of the node, the head first. */
static void add_channel(const struct gt_plan *plan,
			const struct gt_plan_vertex *head, int all,
			struct gt_buf *out)
{
	int port = find_port(plan, head);

	gt_buf_puts(out, "    <channel>\n");
	add_port(port, out);
	add_gpu(plan, head->rank, out);
	for (uint32_t r = 0; all && r < plan->nranks; r++)
		if (is_beside(plan, r, head->rank))
			add_gpu(plan, r, out);
	add_port(port, out);
	gt_buf_puts(out, "    </channel>\n");
}

static void add_graph(const struct gt_plan *plan, int id, int pattern,
		      double speed, struct gt_buf *out)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);

	gt_buf_printf(out,
		      "  <graph id=\"%d\" pattern=\"%d\" crossnic=\"0\" "
		      "nchannels=\"%" PRIu32 "\" speedintra=\"%.9g\" "
		      "speedinter=\"%.9g\" latencyinter=\"0\" "
		      "typeintra=\"NVL\" typeinter=\"PIX\" "
		      "samechannels=\"0\">\n",
		      id, pattern, row->nchannels, speed, speed);
	for (uint32_t i = 0; i < row->nchannels; i++)
		add_channel(plan, find_head(&plan->channels[row->channels[i]]),
			    id == COLLNET_ID, out);
	gt_buf_puts(out, "  </graph>\n");
}

int gt_nccl_switch_graphs(const struct gt_plan *plan, double speed,
			  struct gt_buf *out, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	int joins = row->algo == GT_ALGO_COLLNET;

	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];

		if (!find_head(channel) ||
		    (joins && find_port(plan, find_head(channel)) == NO_PORT))
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "channel %" PRIu32 " has no GPU that "
					  "drives a switch by a port NET/N, "
					  "which NCCL's graphs name",
					  channel->id);
	}
	add_graph(plan, NVLS_ID, NVLS_PATTERN, speed, out);
	if (joins)
		add_graph(plan, COLLNET_ID, COLLNET_PATTERN, speed, out);
	return GT_OK;
}
