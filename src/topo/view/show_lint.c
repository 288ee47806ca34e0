/* Puts what is wrong with devices where these are. */
#include "topo/view/show_lint.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/bus_id.h"
#include "topo/graph/topo.h"
#include "topo/lint/finding.h"
#include "topo/view/show_line.h"
#include "topo/view/show_text.h"

/* Returns whether a finding is about the machine, not about its file. */
static int gt_show_lint_is_shown(const struct gt_lint_finding *finding)
{
	switch (finding->rule) {
	case GT_LINT_DEGRADED_RULE:
	case GT_LINT_NARROW_GPU_RULE:
	case GT_LINT_NARROW_SWITCH_RULE:
	case GT_LINT_NVLINK_ONE_SIDED_RULE:
	case GT_LINT_NVLINK_COUNT_RULE:
	case GT_LINT_NVLINK_FEWER_RULE:
	case GT_LINT_NUMA_RULE:
	case GT_LINT_P2P_RULE:
	case GT_LINT_NO_P2P_RULE:
	case GT_LINT_GPU_LOST_RULE:
	case GT_LINT_GPUS_LOST_RULE:
	case GT_LINT_FIRMWARE_RULE:
	case GT_LINT_ACS_RULE:
	case GT_LINT_IOMMU_RULE:
	case GT_LINT_GDR_RULE:
		return 1;
	default: /* the file's, or told by the reader of the file */
		return 0;
	}
}

static int gt_show_lint_is_of(const struct gt_lint_finding *finding,
			      const struct gt_node *node)
{
	char key[GT_BUS_ID_MAX];

	return finding->bus_id && node->bus_id &&
	       gt_bus_id_normalize(finding->bus_id, key) &&
	       !strcmp(key, node->bus_id);
}

/* Add what is found of a node, but not once more that its link is slow. */
static void add_findings(const struct gt_show *show, const struct gt_node *node,
			 int is_slow, struct gt_show_line *line)
{
	for (uint32_t i = 0; show->lint && i < show->lint->nfindings; i++) {
		const struct gt_lint_finding *finding =
			&show->lint->findings[i];

		if (gt_show_lint_is_shown(finding) &&
		    gt_show_lint_is_of(finding, node) &&
		    !(is_slow && finding->rule == GT_LINT_DEGRADED_RULE))
			gt_show_problem(line, finding->text);
	}
}

void gt_show_notes(const struct gt_show *show, const struct gt_node *node,
		   struct gt_show_line *line)
{
	int is_slow = gt_show_finding(node, line->note, sizeof(line->note));

	line->problem = is_slow;
	if (node->problem)
		gt_show_problem(line, node->problem);
	add_findings(show, node, is_slow, line);
}

static int gt_show_lint_has_node(const struct gt_topo *topo,
				 const struct gt_lint_finding *finding)
{
	for (uint32_t i = 0; finding->bus_id && i < gt_topo_nnodes(topo); i++)
		if (gt_show_lint_is_of(finding, gt_topo_node(topo, i)))
			return 1;
	return 0;
}

int gt_show_lint_rest_text(const struct gt_show *show, uint32_t i, char *text,
			   size_t size)
{
	const struct gt_lint_finding *finding = &show->lint->findings[i];
	const char *device = finding->device, *bus_id = finding->bus_id;

	if (!gt_show_lint_is_shown(finding) ||
	    gt_show_lint_has_node(show->topo, finding))
		return 0;
	snprintf(text, size, "%s%s%s%s%s", device ? device : "",
		 device && bus_id ? " " : "", bus_id ? bus_id : "",
		 device || bus_id ? ": " : "", finding->text);
	return 1;
}

void gt_show_lint_rest(const struct gt_show *show)
{
	char text[2 * GT_SHOW_TEXT];

	for (uint32_t i = 0; show->lint && i < show->lint->nfindings; i++) {
		if (!gt_show_lint_rest_text(show, i, text, sizeof(text)))
			continue;
		gt_show_tint(show, GT_TINT_RED);
		gt_buf_puts(show->out, "! ");
		gt_show_tint(show, GT_TINT_NONE);
		gt_show_puts(show, text);
		gt_buf_puts(show->out, "\n");
	}
}
