#include "search/flow/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/shortest_path.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/forest.h"

static struct gt_arena *gt_flow_paths_arena(const struct gt_flow_paths *ways)
{
	return ways->forest->args->arena;
}

static int gt_flow_paths_pairs(struct gt_flow_paths *ways)
{
	uint32_t n = ways->forest->arcs.n;
	const unsigned char *wants = ways->forest->trees.wants;

	ways->pairs = gt_arena_array(gt_flow_paths_arena(ways), (size_t)n * n,
				     sizeof(*ways->pairs));
	if (!ways->pairs)
		return GT_ESYS;
	for (uint32_t i = 0; i < n * n; i++)
		if (wants[i])
			ways->pairs[ways->npairs++] =
				(struct gt_flow_rank_pair){.from = i / n,
							   .to = i % n};
	return GT_OK;
}

/* Room for one more number in a list that grows. */
static int gt_flow_paths_grow(struct gt_flow_paths *ways, void **list,
			      uint32_t n, uint32_t *size, size_t size_bytes)
{
	void *more;

	if (n < *size)
		return GT_OK;
	more = gt_arena_array(gt_flow_paths_arena(ways), 2 * (size_t)*size + 8,
			      size_bytes);
	if (!more)
		return GT_ESYS;
	if (n)
		memcpy(more, *list, n * size_bytes);
	*size = 2 * *size + 8;
	*list = more;
	return GT_OK;
}

/* Rows that the path loads, and how much. */
static int gt_flow_paths_loads(struct gt_flow_paths *ways,
			       struct gt_flow_path *path)
{
	const struct gt_tree_hops *arcs = &ways->forest->arcs;
	int32_t *loads = ways->forest->entries;

	memset(loads, 0, arcs->nrows * sizeof(*loads));
	for (uint32_t i = 0; i < path->nhops; i++)
		gt_tree_hops_load(arcs, path->routes[i], loads);
	for (uint32_t i = 0; i < arcs->nrows; i++)
		path->nrows += loads[i] != 0;
	path->rows = gt_arena_array(gt_flow_paths_arena(ways), path->nrows,
				    sizeof(*path->rows));
	path->loads = gt_arena_array(gt_flow_paths_arena(ways), path->nrows,
				     sizeof(*path->loads));
	if (!path->rows || !path->loads)
		return GT_ESYS;
	path->nrows = 0;
	for (uint32_t i = 0; i < arcs->nrows; i++) {
		if (!loads[i])
			continue;
		path->rows[path->nrows] = i;
		path->loads[path->nrows++] = loads[i];
	}
	return GT_OK;
}

static void *gt_flow_paths_copy(struct gt_flow_paths *ways,
				const uint32_t *from, uint32_t n)
{
	uint32_t *copy =
		gt_arena_array(gt_flow_paths_arena(ways), n, sizeof(*copy));

	if (copy)
		memcpy(copy, from, n * sizeof(*copy));
	return copy;
}

int gt_flow_paths_add(struct gt_flow_paths *ways, uint32_t pair,
		      const uint32_t *ranks, const uint32_t *routes,
		      uint32_t nhops, uint32_t *path)
{
	struct gt_flow_rank_pair *of = &ways->pairs[pair];
	struct gt_flow_path *made;

	for (uint32_t i = 0; i < of->npaths; i++) {
		const struct gt_flow_path *old = &ways->paths[of->paths[i]];

		if (old->nhops == nhops &&
		    !memcmp(old->routes, routes, nhops * sizeof(*routes)) &&
		    !memcmp(old->ranks, ranks, nhops * sizeof(*ranks))) {
			*path = of->paths[i];
			return GT_OK;
		}
	}
	if (gt_flow_paths_grow(ways, (void **)&ways->paths, ways->npaths,
			       &ways->size, sizeof(*ways->paths)) ||
	    gt_flow_paths_grow(ways, (void **)&of->paths, of->npaths, &of->size,
			       sizeof(*of->paths)))
		return GT_ESYS;
	made = &ways->paths[ways->npaths];
	*made = (struct gt_flow_path){.pair = pair, .nhops = nhops};
	made->ranks = gt_flow_paths_copy(ways, ranks, nhops + 1);
	made->routes = gt_flow_paths_copy(ways, routes, nhops);
	if (!made->ranks || !made->routes || gt_flow_paths_loads(ways, made))
		return GT_ESYS;
	of->paths[of->npaths++] = *path = ways->npaths++;
	return GT_OK;
}

static int gt_flow_paths_add_tree(struct gt_flow_paths *ways, uint32_t pair,
				  uint32_t tree, uint32_t *path)
{
	struct gt_tree t = gt_tree_pool_get(&ways->forest->trees, tree);
	uint32_t ranks[GT_SHORTEST_MAX + 1], routes[GT_SHORTEST_MAX];
	uint32_t nhops = 0, at;

	for (uint32_t v = ways->pairs[pair].to; v != t.root; v = t.parent[v])
		nhops++;
	at = nhops;
	for (uint32_t v = ways->pairs[pair].to; at; v = t.parent[v]) {
		ranks[at--] = v;
		routes[at] = t.down[v];
	}
	ranks[0] = t.root;
	return gt_flow_paths_add(ways, pair, ranks, routes, nhops, path);
}

int gt_flow_paths_at(struct gt_flow_paths *ways, uint32_t pair, int64_t num,
		     uint32_t *path)
{
	const struct gt_forest_shares *shares = ways->shares;
	const struct gt_tree_pool *trees = &ways->forest->trees;
	uint32_t from = ways->pairs[pair].from, tree = 0;

	for (uint32_t i = 0; i < shares->ntrees && num >= 0; i++) {
		if (trees->trees[shares->trees[i]].root != from)
			continue;
		tree = shares->trees[i];
		num -= shares->nums[i];
	}
	return gt_flow_paths_add_tree(ways, pair, tree, path);
}

static int gt_flow_paths_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Where some sender's tree ends and its next one begins; ascending. */
static uint32_t gt_flow_paths_cuts(const struct gt_flow_paths *ways,
				   int64_t *cuts)
{
	const struct gt_forest_shares *shares = ways->shares;
	const struct gt_forest *f = ways->forest;
	uint32_t n = 0, kept = 0;

	for (uint32_t r = 0; r < f->nroots; r++) {
		int64_t sum = 0;

		for (uint32_t i = 0; i < shares->ntrees; i++)
			if (gt_forest_root(f, shares->trees[i]) == r)
				cuts[n++] = sum += shares->nums[i];
	}
	qsort(cuts, n, sizeof(*cuts), gt_flow_paths_cmp);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || cuts[i] != cuts[kept - 1])
			cuts[kept++] = cuts[i];
	return kept;
}

static int gt_flow_paths_cut(struct gt_flow_paths *ways)
{
	struct gt_arena *arena = gt_flow_paths_arena(ways);
	int64_t *cuts =
		gt_arena_array(arena, ways->shares->ntrees, sizeof(*cuts));
	int64_t begin = 0;

	if (!cuts)
		return GT_ESYS;
	ways->nchannels = gt_flow_paths_cuts(ways, cuts);
	ways->nums = cuts;
	ways->den = cuts[ways->nchannels - 1];
	ways->pick =
		gt_arena_array(arena, (size_t)ways->nchannels * ways->npairs,
			       sizeof(*ways->pick));
	if (!ways->pick)
		return GT_ESYS;
	for (uint32_t c = 0; c < ways->nchannels; c++) {
		int64_t end = cuts[c];

		for (uint32_t p = 0; p < ways->npairs; p++)
			if (gt_flow_paths_at(
				    ways, p, begin,
				    &ways->pick[(size_t)c * ways->npairs + p]))
				return GT_ESYS;
		ways->nums[c] = end - begin;
		begin = end;
	}
	return GT_OK;
}

int gt_flow_paths_init(struct gt_flow_paths *ways, struct gt_forest *forest,
		       const struct gt_forest_shares *shares,
		       struct gt_err *err)
{
	memset(ways, 0, sizeof(*ways));
	ways->forest = forest;
	ways->shares = shares;
	if (!gt_rat_div(shares->value, GT_RAT(forest->nroots, 1), &ways->rate))
		return gt_err_set(err, GT_ESYS, NULL,
				  "a pair's rate needs more than 64 bits");
	if (gt_flow_paths_pairs(ways) || gt_flow_paths_cut(ways))
		return gt_err_nomem(err);
	return GT_OK;
}
