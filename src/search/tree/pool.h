/*
 * Trees found so far, each with what it loads every row of the hops with:
 * the columns of the packing problem.
 *
 * A tree is used down (from its root to all: all-gather, broadcast), up
 * (reduce-scatter, reduce) or both ways, one after the other (all-reduce).
 * Where every rank gets a block of its own (gt_tree_pool.wants) a hop carries
 * those of all that hang from it, and ranks without one are no part of the
 * tree.
 */
#ifndef GT_SEARCH_TREE_POOL_H
#define GT_SEARCH_TREE_POOL_H

#include <stdint.h>

struct gt_tree_hops;

enum gt_tree_use {
	GT_TREE_DOWN = 1,
	GT_TREE_UP = 2,
	GT_TREE_BOTH = GT_TREE_DOWN | GT_TREE_UP,
};

/* The root has this in place of a parent or a route. */
enum { GT_TREE_ROOT = UINT32_MAX };

/* A tree of the pool, which is borrowed until the next tree is added. */
struct gt_pool_tree {
	uint32_t root;
	uint32_t depth;         /* hops to the farthest rank */
	uint32_t far;           /* hops to all ranks together */
	const uint32_t *parent; /* rank -> rank, or GT_TREE_ROOT */
	const uint32_t *down;   /* rank -> route from its parent */
	const uint32_t *up;     /* rank -> route to it */
	const int32_t *loads;   /* row -> load */
};

struct gt_tree_pool {
	struct gt_tree_hops *hops;
	unsigned int use; /* enum gt_tree_use */
	/*
	 * [root * n + rank]: how many units it has for the rank; NULL: one
	 * block for all
	 */
	const uint32_t *wants;
	uint32_t ntrees, size;
	struct gt_pool_tree *trees;
	uint32_t *ranks; /* parents and routes of all trees */
	int32_t *loads;
};

void gt_tree_pool_init(struct gt_tree_pool *trees, struct gt_tree_hops *hops,
		       unsigned int use);
void gt_tree_pool_release(struct gt_tree_pool *trees);

/*
 * Add a tree over the routes that the hops picked last.  1: added; 0: a hop
 * has no route, or the tree is there already; GT_ESYS: memory ran out.
 */
int gt_tree_pool_add(struct gt_tree_pool *trees, uint32_t root,
		     const uint32_t *parent);

struct gt_pool_tree gt_tree_pool_get(const struct gt_tree_pool *trees,
				     uint32_t tree);

/* weights[parent * n + child]: what hanging a rank there costs, by the hops. */
void gt_tree_pool_weights(const struct gt_tree_pool *trees, int64_t *weights);

#endif
