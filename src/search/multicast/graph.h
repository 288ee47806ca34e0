/*
 * A machine, or a flat cluster, as vertices that have names and links between
 * them, and the shortest ways of all ranks to one of its switches.
 */
#ifndef GT_SEARCH_MULTICAST_GRAPH_H
#define GT_SEARCH_MULTICAST_GRAPH_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_search_request;

struct gt_switch_graph {
	const struct gt_search_request *request;
	struct gt_fabric *fabric;
	const char **names;     /* by vertex; NULL: no link names it */
	unsigned char *is_gpu;  /* by vertex */
	unsigned char *is_nvl;  /* by link: NVLink */
	unsigned char *has_nvl; /* by vertex */
	uint32_t *node;         /* by vertex; GT_NONE: between nodes */
	uint32_t *rank_node;    /* by rank */
	uint32_t nnodes;
};

/* Make the graph of a request; memory is the arena's. */
int gt_switch_graph_init(struct gt_switch_graph *graph,
			 const struct gt_search_request *request,
			 struct gt_arena *arena, struct gt_err *err);

/* The SM version of a rank's GPU, such as 90; 0: unknown. */
int gt_switch_graph_sm(const struct gt_switch_graph *graph, uint32_t rank);

/* Ways to a switch: a link that leaves a vertex for it, and one that comes. */
struct gt_switch_ways {
	uint32_t *dist; /* by vertex, in links; GT_NONE: no way */
	uint32_t *up;   /* by vertex, GT_NONE at the switch */
	uint32_t *down; /* its reverse */
};

/*
 * Find the shortest ways to vertex `target` over NVLinks, or over all other
 * links, through no GPU, and within one node unless `node` is GT_NONE.
 */
int gt_switch_ways_find(const struct gt_switch_graph *graph, uint32_t target,
			int nvl, uint32_t node, struct gt_arena *arena,
			struct gt_switch_ways *ways, struct gt_err *err);

#endif
