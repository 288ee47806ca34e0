/*
 * Trees through all nodes of a cluster: trees of one node's ranks, each used
 * by both of the two trees of nodes (plan/ir/cluster.h), with exact shares.
 *
 * They are the result of a linear program over trees that are made when
 * needed: cheapest arborescences from each rank that nodes may be entered by,
 * under prices of links.  Every node is counted as the one that has most hops
 * in both trees together, and so is every switch.
 */
#ifndef GT_SEARCH_CLUSTER_DOUBLE_TREE_H
#define GT_SEARCH_CLUSTER_DOUBLE_TREE_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

struct gt_double_tree {
	uint32_t root, port; /* local rank and port that enter each node */
	uint32_t *parent;    /* local rank -> parent; the root's is no rank */
	struct gt_rat share; /* of both trees of nodes together */
};

struct gt_double_trees {
	struct gt_rat value; /* size of the result over the time */
	uint32_t ntrees;
	struct gt_double_tree *trees;
};

/*
 * The trees for an all-reduce, or for a broadcast or reduce with this root.
 * Memory is the arena's.  GT_EINPUT for other collectives and for one node;
 * GT_ENO when there is no tree, or its rates need more than 64 bits.
 */
int gt_double_trees_find(const struct gt_quotient *q, enum gt_coll coll,
			 uint32_t root, struct gt_arena *arena,
			 struct gt_double_trees *trees, struct gt_err *err);

#endif
