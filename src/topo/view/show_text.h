/*
 * Words for nodes, rates and links that the tree and the pictures both use.
 * Text is cut to size.
 */
#ifndef GT_TOPO_VIEW_SHOW_TEXT_H
#define GT_TOPO_VIEW_SHOW_TEXT_H

#include <stddef.h>

#include "topo/graph/topo.h"

/*
 * Write what a node is called: "GPU0", "NET1", "NUMA 0", "NIC", "switch" or
 * "NVSwitch".
 */
void gt_show_label(const struct gt_node *node, char *text, size_t size);

/*
 * Write the model of a function: by the file, by its PCI ids, or "10de:2330".
 */
void gt_show_model(const struct gt_node *node, char *text, size_t size);

/* Write a rate as "gen5 x16". */
void gt_show_rate(struct gt_pci_rate rate, char *text, size_t size);

/* Write "63.0 GB/s"; nothing for a local link, which is no limit. */
void gt_show_gbs(struct gt_rat gbs, char *text, size_t size);

/* Write what is to be said of the link above; 1 when it is a problem. */
int gt_show_finding(const struct gt_node *node, char *text, size_t size);

/* Returns the link from the node to what it hangs on, or NULL. */
const struct gt_link *gt_show_uplink(const struct gt_topo *topo, uint32_t node);

/* Returns "xGMI" for an AMD GPU, else "NVLink". */
const char *gt_show_nvlink(const struct gt_node *node);

#endif
