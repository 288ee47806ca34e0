/* PCI functions for people: what they are called, and how their links run. */
#ifndef GT_TOPO_PROBE_PCI_IDS_H
#define GT_TOPO_PROBE_PCI_IDS_H

#include "topo/graph/topo.h"

/* The state of the link above a function is the worst of these that applies. */
enum gt_pci_state {
	GT_PCI_FINE,
	GT_PCI_ASSUMED,  /* its speed or width could not be read */
	GT_PCI_IDLE,     /* it is slower now, as links of idle GPUs are */
	GT_PCI_LIMITED,  /* the port above can do less than the function */
	GT_PCI_DEGRADED, /* it runs below what both of its ends can do */
};

/*
 * Returns the worst that applies; *other gets the rate that goes with it: the
 * present one for IDLE and DEGRADED, the function's own maximum for LIMITED.
 */
enum gt_pci_state gt_pci_state(const struct gt_node *node,
			       struct gt_pci_rate *other);

/* Returns the generation of 2.5, 5, 8, 16, 32, 64 GT/s; 0 for any other. */
int gt_pci_generation(struct gt_rat gts);

/* Returns the line rate in GB/s, 0 where speed or width is unknown. */
struct gt_rat gt_pci_gbs(struct gt_pci_rate rate);

/*
 * Returns a name such as "ConnectX-7" for a device that GPU servers have, or
 * NULL.
 */
const char *gt_pci_name(const struct gt_pci *pci);

#endif
