/* Dijkstra's algorithm on a full matrix of weights. */
#include "search/graph/graph.h"

struct gt_shortest_at {
	uint32_t hops;
	int done;
};

static int gt_shortest_before(int64_t far, uint32_t hops, int64_t than,
			      uint32_t than_hops)
{
	return far < than || (far == than && hops < than_hops);
}

void gt_shortest_paths(uint32_t n, const int64_t *weights, uint32_t root,
		       int64_t *far, uint32_t *parent)
{
	struct gt_shortest_at at[GT_SHORTEST_MAX] = {{0, 0}};
	uint32_t u = root, next;

	for (uint32_t v = 0; v < n; v++) {
		far[v] = v == root ? 0 : INT64_MAX;
		at[v].hops = v == root ? 0 : n;
	}
	for (; u < n; u = next) {
		at[u].done = 1;
		next = n;
		for (uint32_t v = 0; v < n; v++) {
			int64_t over = far[u] + weights[u * n + v];

			if (at[v].done)
				continue;
			if (gt_shortest_before(over, at[u].hops + 1, far[v],
					       at[v].hops)) {
				far[v] = over;
				at[v].hops = at[u].hops + 1;
				parent[v] = u;
			}
			if (next == n ||
			    gt_shortest_before(far[v], at[v].hops, far[next],
					       at[next].hops))
				next = v;
		}
	}
}
