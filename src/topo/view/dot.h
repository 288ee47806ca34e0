/*
 * Writes a machine as a picture, in Graphviz's language: boxes within boxes for
 * NUMA nodes and PCI switches, links as wide as their bandwidth, coloured by
 * kind.
 */
#ifndef GT_TOPO_VIEW_DOT_H
#define GT_TOPO_VIEW_DOT_H

#include "topo/graph/topo.h"

struct gt_buf;
struct gt_cluster;

/*
 * An arrow is something that moves between two GPUs, drawn beside the machine.
 */
struct gt_dot_arrow {
	uint32_t from, to; /* nodes */
	uint32_t group;    /* arrows of one group have the same colour */
};

struct gt_dot_overlay {
	const struct gt_dot_arrow *arrows;
	uint32_t narrows;
	/* the name of each group, in two short lines */
	const char *const *groups;
	uint32_t ngroups;
};

/*
 * Append the picture of a machine; overlay may be NULL; out->failed tells of
 * memory.
 */
void gt_dot(const struct gt_topo *topo, const struct gt_dot_overlay *overlay,
	    struct gt_buf *out);

/*
 * Append the picture of a cluster: its kinds of nodes, and levels of switches.
 */
void gt_dot_cluster(const struct gt_cluster *cluster, struct gt_buf *out);

#endif
