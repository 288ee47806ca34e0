/*
 * Compares two clusters but for their nodes themselves, which are servers to be
 * compared by diff.h: kinds of nodes and how many there are, names, ports on
 * rails, fabrics.
 */
#ifndef GT_TOPO_DIFF_CLUSTER_H
#define GT_TOPO_DIFF_CLUSTER_H

#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_cluster;
struct gt_err;

/*
 * Match kinds of nodes: kind[], of a's nkinds, gets the kind of b that has the
 * same name, else one with an equal server, else that of a node with the same
 * name, else GT_NONE.  GT_EINPUT when a node's file is no longer to be read.
 */
int gt_cluster_diff_kinds(const struct gt_cluster *a,
			  const struct gt_cluster *b, struct gt_arena *arena,
			  uint32_t *kind, struct gt_err *err);

/*
 * Print a line for each finding, b as seen from a, coloured or not.  Where most
 * of a's names are b's, too, nodes are compared by name, else each kind's
 * number of nodes.  *n grows by the number of lines; out->failed tells of
 * memory.
 */
void gt_cluster_diff_print(const struct gt_cluster *a,
			   const struct gt_cluster *b, const uint32_t *kind,
			   int colour, struct gt_buf *out, uint32_t *n);

#endif
