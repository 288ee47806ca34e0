/*
 * A machine as a tree that people read: what hangs where, on what links, and
 * what looks wrong with them.
 */
#ifndef GT_TOPO_VIEW_SHOW_H
#define GT_TOPO_VIEW_SHOW_H

#include "topo/graph/topo.h"

struct gt_buf;
struct gt_cluster;
struct gt_pci_rate;

struct gt_show_style {
	int ascii;  /* nothing outside ASCII, not even from the file */
	int colour; /* with a terminal's escape sequences */
};

/* Append the tree; out->failed tells of memory. */
void gt_show_tree(const struct gt_topo *topo, const struct gt_show_style *style,
		  struct gt_buf *out);

/* The same of a cluster: its kinds of nodes, and its fabrics from the top. */
void gt_show_cluster(const struct gt_cluster *cluster,
		     const struct gt_show_style *style, struct gt_buf *out);

/* What the tree and the pictures both say.  Text is cut to size. */

/* "GPU0", "NET1", "NUMA 0", "NIC", "switch", "NVSwitch". */
void gt_show_label(const struct gt_node *node, char *text, size_t size);

/* What a function is called: by the file, by its PCI ids, or "10de:2330". */
void gt_show_model(const struct gt_node *node, char *text, size_t size);

/* "gen5 x16". */
void gt_show_rate(struct gt_pci_rate rate, char *text, size_t size);

/* "63.0 GB/s"; nothing of a local link, which is no limit. */
void gt_show_gbs(struct gt_rat gbs, char *text, size_t size);

/* What is to be said of the link above; 1 when it is a problem. */
int gt_show_finding(const struct gt_node *node, char *text, size_t size);

/* The link from the node to what it hangs on, or NULL. */
const struct gt_link *gt_show_uplink(const struct gt_topo *topo, uint32_t node);

/* "xGMI" of an AMD GPU, else "NVLink". */
const char *gt_show_nvlink(const struct gt_node *node);

#endif
