/* Prim's algorithm on a full matrix of weights, with a price for depth. */
#include "search/graph/graph.h"

enum { GT_PRIM_OUT = UINT32_MAX };

/* Ranks in the tree have a depth; the others know their best place so far. */
struct gt_grow {
	uint32_t n;
	const int64_t *weights;
	int64_t step;
	uint32_t *parent;
	uint32_t depth[GT_PRIM_MAX];
	int64_t best[GT_PRIM_MAX];
};

/* Offer a rank of the tree as parent to those that are not in it. */
static void gt_grow_offer(struct gt_grow *g, uint32_t p)
{
	for (uint32_t v = 0; v < g->n; v++) {
		int64_t w = g->weights[p * g->n + v] + g->step * g->depth[p];

		if (g->depth[v] != GT_PRIM_OUT || w > g->best[v] ||
		    (w == g->best[v] && g->depth[p] >= g->depth[g->parent[v]]))
			continue;
		g->best[v] = w;
		g->parent[v] = p;
	}
}

/* The rank that joins next; GT_PRIM_OUT when all are in. */
static uint32_t gt_grow_next(const struct gt_grow *g)
{
	uint32_t next = GT_PRIM_OUT;

	for (uint32_t v = 0; v < g->n; v++) {
		if (g->depth[v] != GT_PRIM_OUT)
			continue;
		if (next == GT_PRIM_OUT || g->best[v] < g->best[next] ||
		    (g->best[v] == g->best[next] &&
		     g->depth[g->parent[v]] < g->depth[g->parent[next]]))
			next = v;
	}
	return next;
}

int64_t gt_prim(uint32_t n, const int64_t *weights, uint32_t root, int64_t step,
		uint32_t *parent)
{
	struct gt_grow g = {n, weights, step, parent, {0}, {0}};
	int64_t sum = 0;

	for (uint32_t v = 0; v < n; v++) {
		g.depth[v] = GT_PRIM_OUT;
		g.best[v] = INT64_MAX;
		parent[v] = root;
	}
	g.depth[root] = 0;
	gt_grow_offer(&g, root);
	for (uint32_t v; (v = gt_grow_next(&g)) != GT_PRIM_OUT;) {
		g.depth[v] = g.depth[parent[v]] + 1;
		sum += weights[parent[v] * n + v];
		gt_grow_offer(&g, v);
	}
	return sum;
}
