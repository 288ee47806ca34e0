/*
 * Shows a machine as a tree that people read: what hangs where, on what links,
 * and what looks wrong with them.
 */
#ifndef GT_TOPO_VIEW_SHOW_H
#define GT_TOPO_VIEW_SHOW_H

struct gt_buf;
struct gt_cluster;
struct gt_lint;
struct gt_topo;

struct gt_show_style {
	int ascii;  /* nothing outside ASCII, not even from the file */
	int colour; /* with a terminal's escape sequences */
	/* what lint finds in the machine's file, to be marked; or NULL */
	const struct gt_lint *lint;
};

/* Append the tree of a machine; out->failed tells of memory. */
void gt_show_tree(const struct gt_topo *topo, const struct gt_show_style *style,
		  struct gt_buf *out);

/*
 * Append the tree of a cluster: its kinds of nodes, and its fabrics from the
 * top.
 */
void gt_show_cluster(const struct gt_cluster *cluster,
		     const struct gt_show_style *style, struct gt_buf *out);

#endif
