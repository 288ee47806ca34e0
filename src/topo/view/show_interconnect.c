/*
 * Shows the end of a machine's tree: links that are part of no branch, those of
 * GPUs to NVSwitches and the slowest one between CPUs.
 */
#include "topo/view/show_line.h"

#include <stdio.h>

#include "topo/graph/topo.h"
#include "topo/view/show_text.h"

/* Returns the link of a GPU to the NVSwitches, or NULL. */
static const struct gt_link *gt_show_switched(const struct gt_topo *topo,
					      uint32_t gpu)
{
	const struct gt_link *link;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		link = gt_topo_link(topo, i);
		if (link->from == gpu &&
		    gt_topo_node(topo, link->to)->kind == GT_NODE_NVS)
			return link;
	}
	return NULL;
}

/*
 * Returns the end of a run of GPUs whose numbers follow each other and which
 * have `count` links each.
 */
static uint32_t run_end(const struct gt_topo *topo, uint32_t first,
			uint32_t count)
{
	const struct gt_link *link;
	uint32_t last = first;

	for (; last < gt_topo_ngpus(topo); last++) {
		link = gt_show_switched(topo, gt_topo_gpu(topo, last));
		if (!link || link->count != count)
			break;
		if (last > first &&
		    gt_topo_node(topo, link->from)->dev !=
			    gt_topo_node(topo, gt_topo_gpu(topo, last - 1))
					    ->dev +
				    1)
			break;
	}
	return last;
}

/* Shows all GPUs with `count` links each to the NVSwitches, in one line. */
static void gt_show_nvswitch(struct gt_show *show, uint32_t count,
			     uint32_t most)
{
	const struct gt_topo *topo = show->topo;
	struct gt_show_line line = {.depth = 1, .label = "NVSwitch"};
	const struct gt_node *first, *last;
	const struct gt_link *one = NULL;
	char lanes[64];
	uint32_t end;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i = end) {
		end = run_end(topo, i, count);
		if (end == i) {
			end++;
			continue;
		}
		first = gt_topo_node(topo, gt_topo_gpu(topo, i));
		last = gt_topo_node(topo, gt_topo_gpu(topo, end - 1));
		one = gt_show_switched(topo, gt_topo_gpu(topo, i));
		if (first == last)
			gt_show_add(&line, "GPU%d", first->dev);
		else
			gt_show_add(&line, "GPU%d-%d", first->dev, last->dev);
	}
	gt_show_parallel_links(one, lanes, sizeof(lanes));
	snprintf(line.rate, sizeof(line.rate), "%s", "NVLink");
	gt_show_gbs(one->gbs, line.gbs, sizeof(line.gbs));
	gt_show_add(&line, "%s each", lanes);
	line.problem = count < most;
	if (line.problem)
		snprintf(line.note, sizeof(line.note), "others have %u links",
			 most);
	gt_show_line(show, &line);
}

/*
 * Returns the most links, but fewer than `below`, that a GPU has to the
 * NVSwitches.
 */
static uint32_t gt_show_most(const struct gt_topo *topo, uint32_t below)
{
	const struct gt_link *link;
	uint32_t most = 0;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		link = gt_show_switched(topo, gt_topo_gpu(topo, i));
		if (link && link->count > most && link->count < below)
			most = link->count;
	}
	return most;
}

void gt_show_interconnect(struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	struct gt_show_line line = {.depth = 1, .label = "between NUMA nodes"};
	uint32_t most = gt_show_most(topo, UINT32_MAX);
	const struct gt_link *sys = NULL;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->kind == GT_LINK_SYS &&
		    (!sys || gt_rat_cmp(link->gbs, sys->gbs) < 0))
			sys = link;
	}
	for (uint32_t count = most; count; count = gt_show_most(topo, count)) {
		show->more[1] = sys || gt_show_most(topo, count);
		gt_show_nvswitch(show, count, most);
	}
	if (!sys)
		return;
	gt_show_gbs(sys->gbs, line.gbs, sizeof(line.gbs));
	gt_show_add(&line, "%s",
		    *line.gbs ? "NCCL's figure for these processors"
			      : "unknown processors");
	show->more[1] = 0;
	gt_show_line(show, &line);
}

int gt_show_has_interconnect(const struct gt_topo *topo)
{
	int cpus = 0;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		cpus += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	return cpus > 1 || gt_show_most(topo, UINT32_MAX) > 0;
}
