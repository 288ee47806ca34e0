/*
 * A small cluster as one machine: every node's links, the switches between
 * them, and a route for every pair of GPUs.  This is what rings and trees are
 * searched on where nodes are not alike, and what their bounds are about: a
 * card that is missing, a smaller node and a switch with fewer nodes are as
 * they are.
 *
 * Vertices are the nodes' own, node by node, then switches.  A link is called
 * "NODE:FROM>TO" within a node, and ends of others are "NODE:PORT" or
 * "switchLEVEL.NUMBER" (of explicit links: the switch's name).  Over NVLink
 * the ends are the nodes' NVSwitches.
 */
#ifndef GT_SEARCH_PROBLEM_FLAT_CLUSTER_H
#define GT_SEARCH_PROBLEM_FLAT_CLUSTER_H

#include <stdint.h>

#include "base/rat.h"
#include "search/problem/fabric.h"
#include "topo/cluster/cluster.h"

struct gt_arena;
struct gt_err;
struct gt_paths;
struct gt_plan_rank;

struct gt_flat_cluster {
	const struct gt_cluster *cluster;
	struct gt_fabric fabric;
	const char **link_ids; /* by the fabric's link */
	const char **link_kinds;
	struct gt_plan_rank *ranks; /* with the nodes' names */
	/* While it is made. */
	struct gt_arena *arena;
	struct gt_paths *const *paths;       /* by kind */
	uint32_t *first_vertex, *first_link; /* by node */
	uint32_t *node_of, *gpu_of;          /* rank -> node, topology's GPU */
	uint32_t first_net; /* the first link that is no node's own */
	uint32_t max_ranks;
	int failed;
};

/* A search of all GPUs takes no more than this. */
enum { GT_FLAT_MAX_RANKS = 64, GT_FLAT_OPEN_RANKS = 1024 };

/*
 * The cluster with all GPUs of each node, or those of the list `gpus`, whose
 * kinds have these routes.  GT_EINPUT when it has more than
 * GT_FLAT_MAX_RANKS.  Memory is the arena's; cluster and paths are borrowed.
 */
int gt_flat_new(const struct gt_cluster *cluster, struct gt_paths *const *paths,
		const char *gpus, struct gt_arena *arena,
		struct gt_flat_cluster **flat, struct gt_err *err);

/*
 * Make the cluster an open fabric, which has no routes of its own: whoever
 * searches it chooses them.  GT_EINPUT when it has more than
 * GT_FLAT_OPEN_RANKS.
 */
int gt_flat_new_open(const struct gt_cluster *cluster,
		     struct gt_paths *const *paths, const char *gpus,
		     struct gt_arena *arena, struct gt_flat_cluster **flat,
		     struct gt_err *err);

/* The functions below are what the files that make one share. */

/*
 * flat_cluster_links.c: all links of the nodes and between them, with their
 * names, into arrays that have room for them.
 */
int gt_flat_links(struct gt_flat_cluster *flat, struct gt_err *err);

/* The vertex that stands for a node's device. */
uint32_t gt_flat_vertex(const struct gt_flat_cluster *flat, uint32_t node,
			uint32_t device);

/*
 * The node's NVSwitch that stands for its GPUs' links to other nodes, or
 * GT_NONE.
 */
uint32_t gt_flat_nvswitch(const struct gt_topo *topo);

/* The vertex that a fabric joins, for a port of a node's list. */
uint32_t gt_flat_port(const struct gt_flat_cluster *flat,
		      enum gt_fabric_kind over, uint32_t node, uint32_t port);

/* flat_cluster_route.c: the routes of the fabric, once it has its links. */
int gt_flat_routes(struct gt_flat_cluster *flat, struct gt_err *err);

#endif
