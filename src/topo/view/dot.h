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
struct gt_lint;

/*
 * An arrow is something that moves between two GPUs, drawn beside the machine.
 */
struct gt_dot_arrow {
	uint32_t from, to; /* nodes */
	uint32_t group;    /* arrows of one group have the same colour */
	int network;       /* it leads to a GPU of another machine */
};

struct gt_dot_group {
	const char *name; /* in three short lines */
	uint32_t root;    /* the GPU where it begins, or GT_NONE */
};

struct gt_dot_overlay {
	const struct gt_dot_arrow *arrows;
	uint32_t narrows;
	const struct gt_dot_group *groups;
	uint32_t ngroups;
};

/* What a picture has besides the machine; each may be NULL. */
struct gt_dot_more {
	const struct gt_lint *lint; /* what it finds in the machine's file */
	const struct gt_dot_overlay *overlay;
};

/* Append the picture of a machine; out->failed tells of memory. */
void gt_dot(const struct gt_topo *topo, struct gt_dot_more more,
	    struct gt_buf *out);

/*
 * Append the picture of a cluster: its kinds of nodes, and levels of switches.
 */
void gt_dot_cluster(const struct gt_cluster *cluster, struct gt_buf *out);

#endif
