/*
 * The shortest ways from one rank to all others (Dijkstra 1959), those of
 * fewest hops where several are as short.
 */
#ifndef GT_SEARCH_GRAPH_SHORTEST_PATH_H
#define GT_SEARCH_GRAPH_SHORTEST_PATH_H

#include <stdint.h>

/*
 * weights[from * n + to] >= 0, n of them do not overflow; n up to
 * GT_SHORTEST_MAX.  Fills far[] and, but for the root, parent[].
 */
enum { GT_SHORTEST_MAX = 256 };

void gt_shortest_paths(uint32_t n, const int64_t *weights, uint32_t root,
		       int64_t *far, uint32_t *parent);

#endif
