/*
 * The names of kinds of routes, and the kind that each link makes of a route by
 * the nodes that it joins.
 */
#include "topo/graph/path_kind.h"

#include "topo/graph/inside.h"
#include "topo/graph/topo.h"

const char *gt_path_kind_name(enum gt_path_kind kind)
{
	static const char *const names[GT_NPATHKINDS] = {
		"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
		"P2C", "PXN", "PHB", "SYS", "NET", "DIS",
	};

	return names[kind];
}

enum gt_path_kind gt_link_path_kind(const struct gt_topo *topo, uint32_t index)
{
	const struct gt_link *link = &topo->links[index];
	enum gt_node_kind from = topo->nodes[link->from].kind;
	enum gt_node_kind to = topo->nodes[link->to].kind;

	if (from == GT_NODE_PCI && to == GT_NODE_PCI)
		return GT_PATH_PXB;
	switch (link->kind) {
	case GT_LINK_NVL:
		return GT_PATH_NVL;
	case GT_LINK_C2C:
		return GT_PATH_C2C;
	case GT_LINK_PCI:
		return from == GT_NODE_CPU || to == GT_NODE_CPU ? GT_PATH_PHB
								: GT_PATH_PIX;
	case GT_LINK_SYS:
		return GT_PATH_SYS;
	default:
		return GT_PATH_LOC;
	}
}
