/*
 * Kinds of routes, as NCCL and nvidia-smi know them, and which kind a link
 * makes of a route that passes over it.
 */
#ifndef GT_TOPO_GRAPH_PATH_KIND_H
#define GT_TOPO_GRAPH_PATH_KIND_H

#include <stdint.h>

struct gt_topo;

/* Best first; NCCL's scale. */
enum gt_path_kind {
	GT_PATH_LOC, /* the same device */
	GT_PATH_NVL, /* by NVLink, direct or through NVSwitch */
	GT_PATH_NVB, /* by NVLink through one other GPU */
	GT_PATH_C2C, /* chip to chip */
	GT_PATH_PIX, /* one PCI switch */
	GT_PATH_PXB, /* several PCI switches, no CPU */
	GT_PATH_P2C, /* by C2C to the CPU, then through its PCI */
	GT_PATH_PXN, /* through a GPU near the NIC */
	GT_PATH_PHB, /* through a CPU's host bridge */
	GT_PATH_SYS, /* between CPUs */
	GT_PATH_NET, /* over the network */
	GT_PATH_DIS, /* not connected */
	GT_NPATHKINDS
};

/* Returns "LOC", "NVL", … */
const char *gt_path_kind_name(enum gt_path_kind kind);

/*
 * Returns what a route over only this link would be; a route is the worst of
 * its links.
 */
enum gt_path_kind gt_link_path_kind(const struct gt_topo *topo, uint32_t link);

#endif
