/*
 * A machine as a picture, in Graphviz's language: boxes within boxes for NUMA
 * nodes and PCI switches, links as wide as their bandwidth, coloured by kind.
 */
#ifndef GT_TOPO_VIEW_DOT_H
#define GT_TOPO_VIEW_DOT_H

#include "topo/graph/topo.h"

struct gt_buf;
struct gt_cluster;

/* Something that moves between two GPUs, drawn beside the machine. */
struct gt_dot_arrow {
	uint32_t from, to; /* nodes */
	uint32_t group;    /* arrows of one have the same colour */
};

struct gt_dot_overlay {
	const struct gt_dot_arrow *arrows;
	uint32_t narrows;
	const char *const *groups; /* what each is, two short lines */
	uint32_t ngroups;
};

/* Append the graph; overlay may be NULL; out->failed tells of memory. */
void gt_dot(const struct gt_topo *topo, const struct gt_dot_overlay *overlay,
	    struct gt_buf *out);

/* The same of a cluster: its kinds of nodes, and levels of switches. */
void gt_dot_cluster(const struct gt_cluster *cluster, struct gt_buf *out);

#endif
