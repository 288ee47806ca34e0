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

#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

struct gt_arena;
struct gt_cost_net;
struct gt_err;

struct gt_cost_extrapolation {
	const struct gt_plan *whole;
	uint32_t n; /* plans: 1, the whole one, or 2 */
	struct gt_plan plans[2];
	struct gt_plan_cluster clusters[2];
};

/*
 * Clusters of at most so many ranks are executed as they are, larger ones with
 * up to so many nodes; and in a hurry, when many prices are compared.
 */
enum {
	GT_COST_EXACT_RANKS = 64,
	GT_COST_SAMPLE_NODES = 8,
	GT_COST_FAST_RANKS = 32,
	GT_COST_FAST_NODES = 4,
};

/* The plans borrow the whole one; the levels are the arena's. */
int gt_cost_extrapolate_init(struct gt_cost_extrapolation *few,
			     const struct gt_plan *plan, int hurry,
			     struct gt_arena *arena, struct gt_err *err);

/* What is y[i] on plans[i], and grows with nodes, on all nodes. */
double gt_cost_extrapolate_linear(const struct gt_cost_extrapolation *few,
				  const double y[2]);

/* The same of something that has `deep` for each node passed in a row. */
double gt_cost_extrapolate_chain(const struct gt_cost_extrapolation *few,
				 const double y[2], double deep);

/* The same of trees of nodes, which grow with their depth. */
double gt_cost_extrapolate_tree(const struct gt_cost_extrapolation *few,
				const double y[2]);

/* The busiest link of any node, of trees: it does not depend on their number */
double gt_cost_extrapolate_max(const struct gt_cost_extrapolation *few,
			       const struct gt_cost_net *nets, uint32_t *link);

/*
 * For how long the link of node 0 that is busiest on all nodes is so, in the
 * runs that the plans' nets have just made, and which it is (gt_cost.link).
 */
double gt_cost_extrapolate_busiest(const struct gt_cost_extrapolation *few,
				   const struct gt_cost_net *nets,
				   uint32_t *link);

#endif
