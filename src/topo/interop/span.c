/* Cuts a cluster's runs of nodes where switches of a level end. */
#include "topo/interop/span.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/cluster/name_list.h"

uint32_t gt_span_count(const struct gt_cluster *cluster,
		       enum gt_fabric_kind over, uint32_t level)
{
	uint32_t nodes = cluster->fabrics[over].levels[level].nodes;

	return (cluster->nnodes - 1) / nodes + 1;
}

const char *gt_span_level_name(uint32_t level, char text[GT_SPAN_NAME])
{
	static const char *const names[] = {"leaf", "spine", "core"};

	if (level < sizeof(names) / sizeof(names[0]))
		return names[level];
	snprintf(text, GT_SPAN_NAME, "level%u-", level);
	return text;
}

const char *gt_span_name(uint32_t level, uint32_t span, char text[GT_SPAN_NAME])
{
	char name[GT_SPAN_NAME];

	snprintf(text, GT_SPAN_NAME, "%.12s%u", gt_span_level_name(level, name),
		 span);
	return text;
}

/* Cuts a run to the nodes that are asked for; 0 when none of them is. */
static int cut_run(struct gt_cluster_run *run, uint32_t first, uint32_t end)
{
	uint32_t from = run->first > first ? run->first : first;
	uint32_t to =
		run->first + run->count < end ? run->first + run->count : end;

	if (from >= to)
		return 0;
	run->number += from - run->first;
	run->count = to - from;
	run->first = from;
	return 1;
}

/*
 * A list of names is written run by run: what is after a number other programs
 * do not take behind a bracket, so such names stand alone.
 */
void gt_span_nodes(const struct gt_cluster *cluster, uint32_t first,
		   uint32_t end, struct gt_buf *out)
{
	const char *between = "";
	char name[256];

	for (uint32_t i = 0; i < cluster->nruns; i++) {
		struct gt_cluster_run run = cluster->runs[i];

		if (!cut_run(&run, first, end))
			continue;
		if (!*run.suffix) {
			gt_buf_puts(out, between);
			gt_name_list_print(&run, 1, out);
			between = ",";
			continue;
		}
		for (uint32_t k = 0; k < run.count; k++) {
			gt_cluster_node_name(cluster, run.first + k, name,
					     sizeof(name));
			gt_buf_printf(out, "%s%s", between, name);
			between = ",";
		}
	}
}

static int is_name(const char *text, int is_lower)
{
	for (; *text; text++)
		if (!(isalnum((unsigned char)*text) || *text == '.' ||
		      *text == '-' || (*text == '_' && !is_lower)) ||
		    (unsigned char)*text >= 0x80 ||
		    (is_lower && isupper((unsigned char)*text)))
			return 0;
	return 1;
}

int gt_span_check_names(const struct gt_cluster *cluster, int is_lower,
			struct gt_err *err)
{
	char name[256];

	for (uint32_t i = 0; i < cluster->nruns; i++) {
		const struct gt_cluster_run *run = &cluster->runs[i];

		if (is_name(run->prefix, is_lower) &&
		    is_name(run->suffix, is_lower))
			continue;
		gt_cluster_node_name(cluster, run->first, name, sizeof(name));
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "the node '%s' has a name that %s does not "
				  "take; rename it with names=",
				  name, is_lower ? "Kubernetes" : "Slurm");
	}
	return GT_OK;
}
