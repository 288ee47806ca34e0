/* PCI functions for people: what they are called, how their links run. */
#ifndef GT_TOPO_PROBE_PCI_IDS_H
#define GT_TOPO_PROBE_PCI_IDS_H

#include "topo/graph/topo.h"

/* What is to be said of the link above a function. */
enum gt_pci_state {
	GT_PCI_FINE,
	GT_PCI_ASSUMED,  /* speed or width could not be read */
	GT_PCI_IDLE,     /* a GPU's is slower now, as idle GPUs' are */
	GT_PCI_LIMITED,  /* the port above can do less than the function */
	GT_PCI_DEGRADED, /* runs below what both of its ends can do */
};

/* The worst of it; *other gets the rate that goes with it: the present one of
 * IDLE and DEGRADED, the function's own maximum of LIMITED. */
enum gt_pci_state gt_pci_state(const struct gt_node *node,
			       struct gt_pci_rate *other);

/* The generation of 2.5, 5, 8, 16, 32, 64 GT/s; 0 for any other. */
int gt_pci_generation(struct gt_rat gts);

/* Its line rate in GB/s, 0 where speed or width is unknown. */
struct gt_rat gt_pci_gbs(struct gt_pci_rate rate);

/* "ConnectX-7" of a device that GPU servers have, or NULL. */
const char *gt_pci_name(const struct gt_pci *pci);

#endif
