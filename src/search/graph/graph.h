/*
 * Algorithms on small directed graphs, in whole numbers.  Each has a file of
 * its own; a graph of n ranks is a matrix, weights[from * n + to].
 */
#ifndef GT_SEARCH_GRAPH_GRAPH_H
#define GT_SEARCH_GRAPH_GRAPH_H

#include <stdint.h>

/*
 * maxflow.c: maximum flow by blocking flows along shortest paths (Dinic,
 * "Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", 1970).  Arcs are added once; their capacities may be changed
 * between runs.
 */
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

/*
 * arborescence.c: the cheapest spanning tree directed away from a root (Chu and
 * Liu 1965; Edmonds, "Optimum branchings", 1967), in O(n^3) at worst.  Weights
 * are >= 0, n >= 2; n of them do not overflow.  The cost of the tree, or -1
 * when memory ran out.  parent[] (NULL: not wanted) is what each rank but the
 * root hangs from.
 */
int64_t gt_arborescence(uint32_t n, const int64_t *weights, uint32_t root,
			uint32_t *parent);

/* The largest n of gt_prim() and of gt_shortest_paths(). */
enum { GT_PRIM_MAX = 64, GT_SHORTEST_MAX = 256 };

/*
 * prim.c: a spanning tree grown from its root.  Of all ranks not in it yet the
 * one that is cheapest to hang on (Prim 1957), nearer to the root if it costs
 * the same; `step` is added for every hop between the root and the parent.
 * Without cheaper ways in through a detour it is the cheapest tree; it is short
 * where costs are equal.  Fills parent[] but for the root; its cost (without
 * steps).
 */
int64_t gt_prim(uint32_t n, const int64_t *weights, uint32_t root, int64_t step,
		uint32_t *parent);

/*
 * shortest_path.c: the shortest ways from one rank to all others (Dijkstra
 * 1959), those of fewest hops where several are as short.  Weights are >= 0, n
 * of them do not overflow.  Fills far[] and, but for the root, parent[].
 */
void gt_shortest_paths(uint32_t n, const int64_t *weights, uint32_t root,
		       int64_t *far, uint32_t *parent);

#endif
