/*
 * Maximum flow in a small directed graph, in whole numbers.
 *
 * Dinic, "Algorithm for solution of a problem of maximum flow in networks
 * with power estimation", 1970: blocking flows along shortest paths.
 * Arcs are added once; their capacities may be changed between runs.
 */
#ifndef GT_SEARCH_GRAPH_MAXFLOW_H
#define GT_SEARCH_GRAPH_MAXFLOW_H

#include <stdint.h>

struct gt_maxflow;

/* More than any capacity or sum of them; the caller keeps sums below. */
#define GT_MAXFLOW_INF (INT64_MAX / 4)

/* A graph without arcs; NULL when memory ran out. */
struct gt_maxflow *gt_maxflow_new(uint32_t nnodes, uint32_t max_arcs);
void gt_maxflow_free(struct gt_maxflow *flow);

/* Add an arc of capacity 0 and return its number (0, 1, ...). */
uint32_t gt_maxflow_add(struct gt_maxflow *flow, uint32_t from, uint32_t to);
void gt_maxflow_set(struct gt_maxflow *flow, uint32_t arc, int64_t capacity);

/* The value of a maximum flow with the capacities as they are set. */
int64_t gt_maxflow_run(struct gt_maxflow *flow, uint32_t source, uint32_t sink);

/*
 * After a run: is the node on the source's side of the minimum cut?  Of all
 * minimum cuts this is the one with the smallest source side.
 */
int gt_maxflow_is_source_side(const struct gt_maxflow *flow, uint32_t node);

#endif
