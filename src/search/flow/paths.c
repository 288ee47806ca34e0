/*
 * The paths of a concurrent flow: how the trees of blocks are taken apart into
 * one path a pair, and cut side by side into channels.
 */
#include "search/flow/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "search/flow/assignment.h"
#include "search/graph/graph.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/forest.h"

static struct gt_arena *gt_flow_paths_arena(const struct gt_flow_paths *flow)
{
	return flow->forest->args->arena;
}

static int gt_flow_paths_pairs(struct gt_flow_paths *flow)
{
	uint32_t n = flow->forest->hops.n;
	const uint32_t *wants = flow->forest->trees.wants;

	flow->pairs = gt_arena_array(gt_flow_paths_arena(flow), (size_t)n * n,
				     sizeof(*flow->pairs));
	if (!flow->pairs)
		return GT_ESYS;
	for (uint32_t i = 0; i < n * n; i++)
		if (wants[i])
			flow->pairs[flow->npairs++] =
				(struct gt_flow_rank_pair){.from = i / n,
							   .to = i % n};
	return GT_OK;
}

/* List the rows that the path loads, and how much. */
static int gt_flow_paths_loads(struct gt_flow_paths *flow,
			       struct gt_flow_path *path)
{
	const struct gt_tree_hops *hops = &flow->forest->hops;
	const struct gt_flow_rank_pair *pair = &flow->pairs[path->pair];
	uint32_t units =
		flow->forest->trees.wants[pair->from * hops->n + pair->to];
	int32_t *loads = flow->forest->entries;

	memset(loads, 0, hops->nrows * sizeof(*loads));
	for (uint32_t i = 0; i < path->nhops; i++)
		gt_tree_hops_load(hops, path->routes[i], units, loads);
	for (uint32_t i = 0; i < hops->nrows; i++)
		path->nloads += loads[i] != 0;
	path->loads = gt_arena_array(gt_flow_paths_arena(flow), path->nloads,
				     sizeof(*path->loads));
	if (!path->loads)
		return GT_ESYS;
	path->nloads = 0;
	for (uint32_t i = 0; i < hops->nrows; i++)
		if (loads[i])
			path->loads[path->nloads++] =
				(struct gt_row_load){i, loads[i]};
	return GT_OK;
}

static void *gt_flow_paths_copy(struct gt_flow_paths *flow,
				const uint32_t *from, uint32_t n)
{
	uint32_t *copy =
		gt_arena_array(gt_flow_paths_arena(flow), n, sizeof(*copy));

	if (copy)
		memcpy(copy, from, n * sizeof(*copy));
	return copy;
}

int gt_flow_paths_add(struct gt_flow_paths *flow, uint32_t pair,
		      const uint32_t *ranks, const uint32_t *routes,
		      uint32_t nhops, uint32_t *path)
{
	struct gt_flow_rank_pair *of = &flow->pairs[pair];
	struct gt_arena *arena = gt_flow_paths_arena(flow);
	struct gt_flow_path *made;
	uint32_t *list;

	for (uint32_t i = 0; i < of->npaths; i++) {
		const struct gt_flow_path *old = &flow->paths[of->paths[i]];

		if (old->nhops == nhops &&
		    !memcmp(old->routes, routes, nhops * sizeof(*routes)) &&
		    !memcmp(old->ranks, ranks, nhops * sizeof(*ranks))) {
			*path = of->paths[i];
			return GT_OK;
		}
	}
	made = gt_vec_grow_in(arena, flow->paths, flow->npaths, &flow->size,
			      sizeof(*made));
	list = gt_vec_grow_in(arena, of->paths, of->npaths, &of->size,
			      sizeof(*list));
	if (!made || !list)
		return GT_ESYS;
	flow->paths = made;
	of->paths = list;
	made = &flow->paths[flow->npaths];
	*made = (struct gt_flow_path){.pair = pair, .nhops = nhops};
	made->ranks = gt_flow_paths_copy(flow, ranks, nhops + 1);
	made->routes = gt_flow_paths_copy(flow, routes, nhops);
	if (!made->ranks || !made->routes || gt_flow_paths_loads(flow, made))
		return GT_ESYS;
	of->paths[of->npaths++] = *path = flow->npaths++;
	return GT_OK;
}

static int gt_flow_paths_add_tree(struct gt_flow_paths *flow, uint32_t pair,
				  uint32_t tree, uint32_t *path)
{
	struct gt_pool_tree t = gt_tree_pool_get(&flow->forest->trees, tree);
	uint32_t ranks[GT_SHORTEST_MAX + 1], routes[GT_SHORTEST_MAX];
	uint32_t nhops = 0, at;

	for (uint32_t v = flow->pairs[pair].to; v != t.root; v = t.parent[v])
		nhops++;
	at = nhops;
	for (uint32_t v = flow->pairs[pair].to; at; v = t.parent[v]) {
		ranks[at--] = v;
		routes[at] = t.down[v];
	}
	ranks[0] = t.root;
	return gt_flow_paths_add(flow, pair, ranks, routes, nhops, path);
}

int gt_flow_paths_at(struct gt_flow_paths *flow, uint32_t pair, int64_t num,
		     uint32_t *path)
{
	const struct gt_forest_shares *shares = flow->shares;
	const struct gt_tree_pool *trees = &flow->forest->trees;
	uint32_t from = flow->pairs[pair].from, tree = 0;

	for (uint32_t i = 0; i < shares->ntrees && num >= 0; i++) {
		if (trees->trees[shares->trees[i]].root != from)
			continue;
		tree = shares->trees[i];
		num -= shares->nums[i];
	}
	return gt_flow_paths_add_tree(flow, pair, tree, path);
}

static int gt_flow_paths_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * List the places at which some sender's tree ends and its next one begins, in
 * order.
 */
static uint32_t gt_flow_paths_cuts(const struct gt_flow_paths *flow,
				   int64_t *cuts)
{
	const struct gt_forest_shares *shares = flow->shares;
	const struct gt_forest *f = flow->forest;
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

static int gt_flow_paths_cut(struct gt_flow_paths *flow)
{
	struct gt_arena *arena = gt_flow_paths_arena(flow);
	int64_t *cuts =
		gt_arena_array(arena, flow->shares->ntrees, sizeof(*cuts));
	int64_t begin = 0;

	if (!cuts)
		return GT_ESYS;
	flow->nchannels = gt_flow_paths_cuts(flow, cuts);
	flow->nums = cuts;
	flow->den = cuts[flow->nchannels - 1];
	flow->pick =
		gt_arena_array(arena, (size_t)flow->nchannels * flow->npairs,
			       sizeof(*flow->pick));
	if (!flow->pick)
		return GT_ESYS;
	for (uint32_t c = 0; c < flow->nchannels; c++) {
		int64_t end = cuts[c];

		for (uint32_t p = 0; p < flow->npairs; p++)
			if (gt_flow_paths_at(
				    flow, p, begin,
				    &flow->pick[(size_t)c * flow->npairs + p]))
				return GT_ESYS;
		flow->nums[c] = end - begin;
		begin = end;
	}
	return GT_OK;
}

int gt_flow_paths_init(struct gt_flow_paths *flow, struct gt_forest *forest,
		       const struct gt_forest_shares *shares,
		       struct gt_err *err)
{
	memset(flow, 0, sizeof(*flow));
	flow->forest = forest;
	flow->shares = shares;
	if (!gt_rat_div(shares->value, GT_RAT(forest->nroots, 1), &flow->rate))
		return gt_err_set(err, GT_ESYS, NULL,
				  "a pair's rate needs more than 64 bits");
	if (gt_flow_paths_pairs(flow) || gt_flow_paths_cut(flow))
		return gt_err_nomem(err);
	return GT_OK;
}
