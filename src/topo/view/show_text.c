/*
 * Makes the words that the tree and the pictures both say of nodes, rates and
 * links.
 */
#include "topo/view/show_text.h"

#include <stdio.h>
#include <string.h>

#include "topo/probe/pci_ids.h"

void gt_show_label(const struct gt_node *node, char *text, size_t size)
{
	static const char *const plain[GT_NNODEKINDS] = {
		[GT_NODE_PCI] = "switch",
		[GT_NODE_NVS] = "NVSwitch",
		[GT_NODE_NIC] = "NIC",
	};
	const char *again = strchr(node->id, '#');

	if (plain[node->kind])
		snprintf(text, size, "%s", plain[node->kind]);
	else
		snprintf(text, size, "%s%d%s",
			 node->kind == GT_NODE_CPU ? "NUMA "
			 : node->kind == GT_NODE_MEM
				 ? "memory "
				 : gt_node_kind_name(node->kind),
			 node->dev, again ? again : "");
}

void gt_show_model(const struct gt_node *node, char *text, size_t size)
{
	const char *name = node->name ? node->name : gt_pci_name(node->pci);

	if (name)
		snprintf(text, size, "%s", name);
	else if (node->pci && node->pci->vendor)
		snprintf(text, size, "%04x:%04x", node->pci->vendor,
			 node->pci->device);
	else
		snprintf(text, size, "%s", "");
}

void gt_show_rate(struct gt_pci_rate rate, char *text, size_t size)
{
	int generation = gt_pci_generation(rate.gts);
	char gen[16] = "", width[16] = "";

	if (generation)
		snprintf(gen, sizeof(gen), "gen%d", generation);
	if (rate.width)
		snprintf(width, sizeof(width), "x%d", rate.width);
	snprintf(text, size, "%s%s%s", gen, *gen && *width ? " " : "", width);
}

void gt_show_gbs(struct gt_rat gbs, char *text, size_t size)
{
	double value = gt_rat_double(gbs);

	if (value < 0.1)
		snprintf(text, size, "%.3g GB/s", value);
	else if (value < 5000)
		snprintf(text, size, "%.*f GB/s", value < 2 ? 2 : 1, value);
	else
		*text = '\0';
}

/* Returns what is said of a link that could not be read. */
static const char *gt_show_assumed(const struct gt_pci *pci)
{
	const char *from = pci->assumed ? strstr(pci->assumed, "link_") : NULL;

	if (!from)
		return "unknown, counted as NCCL does";
	if (strstr(from, ":nccl"))
		return "assumed, as NCCL does";
	if (strstr(from, ":nvml"))
		return "assumed, the GPU's own maximum";
	if (strstr(from, ":device"))
		return "assumed, the port above may do less";
	return "assumed, the device may do less";
}

int gt_show_finding(const struct gt_node *node, char *text, size_t size)
{
	struct gt_pci_rate other;
	enum gt_pci_state state = gt_pci_state(node, &other);
	char rate[32];

	*text = '\0';
	if (state == GT_PCI_FINE)
		return 0;
	if (state == GT_PCI_ASSUMED) {
		snprintf(text, size, "%s", gt_show_assumed(node->pci));
		return 0;
	}
	gt_show_rate(other, rate, sizeof(rate));
	if (state == GT_PCI_DEGRADED)
		snprintf(text, size, "down-trained: runs at %s, %.1f GB/s",
			 rate, gt_rat_double(gt_pci_gbs(other)));
	else if (state == GT_PCI_LIMITED)
		snprintf(text, size, "the port above limits it, it can do %s",
			 rate);
	else
		snprintf(text, size, "%s now, as idle GPUs do", rate);
	return state == GT_PCI_DEGRADED;
}

const struct gt_link *gt_show_uplink(const struct gt_topo *topo, uint32_t node)
{
	uint32_t up = gt_topo_node(topo, node)->up;
	const struct gt_link *link;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		link = gt_topo_link(topo, i);
		if (link->from == node && link->to == up &&
		    (link->kind == GT_LINK_PCI || link->kind == GT_LINK_NET))
			return link;
	}
	return NULL;
}

const char *gt_show_nvlink(const struct gt_node *node)
{
	int amd = node->xgmi || (node->pci && node->pci->vendor == 0x1002);

	return amd ? "xGMI" : "NVLink";
}
