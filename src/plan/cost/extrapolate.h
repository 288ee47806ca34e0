/*
 * A large cluster's plan on fewer nodes.  The programs of all nodes would take
 * too long to execute, but they are alike: each further node adds its ranks'
 * blocks, which take the same trees.  So the plan is executed with few nodes
 * and with about twice as many, and what grows between them grows on.
 *
 * Exact is how long links are busy: a node's own blocks load it as on any
 * number of nodes, those of another node each the same.  A model is the time
 * of a loop: that it grows evenly, except for the way down the tree of nodes,
 * whose depth is known.
 */
#ifndef GT_PLAN_COST_EXTRAPOLATE_H
#define GT_PLAN_COST_EXTRAPOLATE_H

#include "plan/ir/cluster_shrink.h"

struct gt_arena;
struct gt_cost_net;
struct gt_err;

struct gt_cost_extrapolation {
	const struct gt_plan *full; /* the plan on all nodes */
	uint32_t n;                 /* samples: 1, the full plan itself, or 2 */
	struct gt_plan_shrunk
		samples[2]; /* few nodes, and about twice as many */
};

/*
 * Clusters of at most GT_COST_EXACT_RANKS are executed as they are, larger ones
 * on up to GT_COST_SAMPLE_NODES nodes.  The smaller limits are for comparing
 * many prices quickly.
 */
enum {
	GT_COST_EXACT_RANKS = 64,
	GT_COST_SAMPLE_NODES = 8,
	GT_COST_FAST_RANKS = 32,
	GT_COST_FAST_NODES = 4,
};

/*
 * Choose the samples; `fast` is for the smaller limits.  They borrow from the
 * plan, and their levels are the arena's.
 */
int gt_cost_extrapolate_init(struct gt_cost_extrapolation *x,
			     const struct gt_plan *plan, int fast,
			     struct gt_arena *arena, struct gt_err *err);

/*
 * A value that is y[i] on samples[i], on all nodes, if it grows by the same
 * amount with each node.
 */
double gt_cost_extrapolate_linear(const struct gt_cost_extrapolation *x,
				  const double y[2]);

/*
 * Extrapolates a value that grows by the same amount with each node, and has
 * `deep` more for each node that a block passes on its way down the tree of
 * nodes, whose depth is known.
 */
double gt_cost_extrapolate_chain(const struct gt_cost_extrapolation *x,
				 const double y[2], double deep);

/* The value if it grows with the depth of a binary tree of the nodes. */
double gt_cost_extrapolate_tree(const struct gt_cost_extrapolation *x,
				const double y[2]);

/*
 * For how long the busiest link of any node is busy under trees of nodes, which
 * does not depend on their number; *link becomes its number (gt_cost.link).
 */
double gt_cost_extrapolate_max(const struct gt_cost_extrapolation *x,
			       const struct gt_cost_net *nets, uint32_t *link);

/*
 * For how long the link of node 0 that is busiest on all nodes is so, in the
 * runs that the samples' nets have just made; *link becomes its number
 * (gt_cost.link).
 */
double gt_cost_extrapolate_busiest(const struct gt_cost_extrapolation *x,
				   const struct gt_cost_net *nets,
				   uint32_t *link);

#endif
