/*
 * The pool's arrays, what a tree loads each row with, and which trees are the
 * same to a linear program.
 */
#include "search/tree/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "search/tree/hop_costs.h"

void gt_tree_pool_init(struct gt_tree_pool *trees, struct gt_tree_hops *hops,
		       unsigned int use)
{
	memset(trees, 0, sizeof(*trees));
	trees->hops = hops;
	trees->use = use;
}

void gt_tree_pool_release(struct gt_tree_pool *trees)
{
	free(trees->trees);
	free(trees->ranks);
	free(trees->loads);
}

/* All arrays grow alike, so they share their size. */
static int gt_tree_pool_grow(struct gt_tree_pool *trees)
{
	uint32_t room[3] = {trees->size, trees->size, trees->size};
	void *grown = gt_vec_grow(trees->trees, trees->ntrees, &room[0],
				  sizeof(*trees->trees));

	if (!grown)
		return GT_ESYS;
	trees->trees = grown;
	grown = gt_vec_grow(trees->ranks, trees->ntrees, &room[1],
			    3 * trees->hops->n * sizeof(*trees->ranks));
	if (!grown)
		return GT_ESYS;
	trees->ranks = grown;
	grown = gt_vec_grow(trees->loads, trees->ntrees, &room[2],
			    (trees->hops->nrows + 1) * sizeof(*trees->loads));
	if (!grown)
		return GT_ESYS;
	trees->loads = grown;
	trees->size = room[2];
	return GT_OK;
}

struct gt_pool_tree gt_tree_pool_get(const struct gt_tree_pool *trees,
				     uint32_t tree)
{
	uint32_t n = trees->hops->n;
	struct gt_pool_tree made = trees->trees[tree];

	made.parent = trees->ranks + (size_t)tree * 3 * n;
	made.down = made.parent + n;
	made.up = made.down + n;
	made.loads = trees->loads + (size_t)tree * trees->hops->nrows;
	return made;
}

/* Load each block on all hops from the root to its rank. */
static int gt_tree_pool_fill_blocks(struct gt_tree_pool *trees, uint32_t root,
				    const uint32_t *parent)
{
	const struct gt_tree_hops *hops = trees->hops;
	uint32_t n = hops->n, last = trees->ntrees;
	uint32_t *at = trees->ranks + (size_t)last * 3 * n;
	int32_t *loads = trees->loads + (size_t)last * hops->nrows;

	memset(loads, 0, hops->nrows * sizeof(*loads));
	for (uint32_t v = 0; v < 3 * n; v++)
		at[v] = GT_TREE_ROOT;
	for (uint32_t to = 0; to < n; to++)
		for (uint32_t v = to; trees->wants[root * n + to] && v != root;
		     v = parent[v]) {
			if (hops->cost[parent[v] * n + v] >= GT_TREE_NO_HOP)
				return 0;
			at[v] = parent[v];
			at[n + v] = hops->pick[parent[v] * n + v];
			gt_tree_hops_load(hops, at[n + v],
					  trees->wants[root * n + to], loads);
		}
	return 1;
}

/* Write the tree behind the last one, where it becomes the next. */
static int gt_tree_pool_fill(struct gt_tree_pool *trees, uint32_t root,
			     const uint32_t *parent)
{
	const struct gt_tree_hops *hops = trees->hops;
	uint32_t n = hops->n, last = trees->ntrees;
	uint32_t *at = trees->ranks + (size_t)last * 3 * n;
	int32_t *loads = trees->loads + (size_t)last * hops->nrows;

	if (trees->wants)
		return gt_tree_pool_fill_blocks(trees, root, parent);
	memset(loads, 0, hops->nrows * sizeof(*loads));
	for (uint32_t v = 0; v < n; v++) {
		uint32_t p = parent[v];

		at[v] = v == root ? GT_TREE_ROOT : p;
		at[n + v] = at[2 * n + v] = GT_TREE_ROOT;
		if (v == root)
			continue;
		if (trees->use & GT_TREE_DOWN) {
			if (hops->cost[p * n + v] >= GT_TREE_NO_HOP)
				return 0;
			at[n + v] = hops->pick[p * n + v];
			gt_tree_hops_load(hops, at[n + v], 1, loads);
		}
		if (trees->use & GT_TREE_UP) {
			if (hops->cost[v * n + p] >= GT_TREE_NO_HOP)
				return 0;
			at[2 * n + v] = hops->pick[v * n + p];
			gt_tree_hops_load(hops, at[2 * n + v], 1, loads);
		}
	}
	return 1;
}

static void gt_tree_pool_measure(struct gt_tree_pool *trees, uint32_t root)
{
	uint32_t n = trees->hops->n;
	struct gt_pool_tree *tree = &trees->trees[trees->ntrees];
	const uint32_t *parent = trees->ranks + (size_t)trees->ntrees * 3 * n;

	*tree = (struct gt_pool_tree){.root = root};
	for (uint32_t v = 0; v < n; v++) {
		uint32_t depth = 0;

		for (uint32_t u = v; u != root && parent[u] != GT_TREE_ROOT;
		     u = parent[u])
			depth++;
		tree->far += depth;
		if (depth > tree->depth)
			tree->depth = depth;
	}
}

/*
 * Is the tree there already?  Of trees that are used both ways only loads
 * count, as it does not matter from which rank they hang.
 */
static int gt_tree_pool_known(const struct gt_tree_pool *trees, uint32_t root)
{
	size_t n = trees->hops->n, last = trees->ntrees;
	size_t nrows = trees->hops->nrows;

	for (size_t i = 0; i < last; i++) {
		int known;

		if (trees->use == GT_TREE_BOTH)
			known = !memcmp(trees->loads + i * nrows,
					trees->loads + last * nrows,
					nrows * sizeof(*trees->loads));
		else
			known = trees->trees[i].root == root &&
				!memcmp(trees->ranks + i * 3 * n,
					trees->ranks + last * 3 * n,
					3 * n * sizeof(*trees->ranks));
		if (known)
			return 1;
	}
	return 0;
}

int gt_tree_pool_add(struct gt_tree_pool *trees, uint32_t root,
		     const uint32_t *parent)
{
	if (gt_tree_pool_grow(trees))
		return GT_ESYS;
	if (!gt_tree_pool_fill(trees, root, parent) ||
	    gt_tree_pool_known(trees, root))
		return 0;
	gt_tree_pool_measure(trees, root);
	trees->ntrees++;
	return 1;
}

void gt_tree_pool_weights(const struct gt_tree_pool *trees, int64_t *weights)
{
	const struct gt_tree_hops *hops = trees->hops;
	uint32_t n = hops->n;

	for (uint32_t p = 0; p < n; p++)
		for (uint32_t v = 0; v < n; v++) {
			int64_t w = 0;

			if (trees->use & GT_TREE_DOWN)
				w += hops->cost[p * n + v];
			if (trees->use & GT_TREE_UP)
				w += hops->cost[v * n + p];
			if (w > GT_TREE_NO_HOP)
				w = GT_TREE_NO_HOP;
			weights[p * n + v] = w;
		}
}
