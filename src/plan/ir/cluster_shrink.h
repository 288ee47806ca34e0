/*
 * A cluster's plan on fewer nodes.  Templates, rings and flows are said of one
 * node and hold for any number of them, so a large cluster can be simulated and
 * priced on a small one with the same levels.
 */
#ifndef GT_PLAN_IR_CLUSTER_SHRINK_H
#define GT_PLAN_IR_CLUSTER_SHRINK_H

#include <stdint.h>

#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

struct gt_arena;

/*
 * A plan and the smaller cluster that it is on.  Everything but the levels is
 * borrowed from the plan that it was made of.  It must not be copied, since
 * plan.cluster points to `cluster`.
 */
struct gt_plan_shrunk {
	struct gt_plan plan;
	struct gt_plan_cluster cluster;
};

/* The level with the largest radix; the lowest of several. */
uint32_t gt_cluster_widest(const struct gt_plan_cluster *cluster);

/*
 * Take the radix of whatever level is the widest down by one, until there are
 * at most `nodes` nodes, and an even number of them, for rings that alternate;
 * two nodes are left in any case.  The levels are the arena's.  GT_ESYS when
 * memory ran out.
 */
int gt_plan_shrink(struct gt_plan_shrunk *shrunk, const struct gt_plan *plan,
		   uint32_t nodes, struct gt_arena *arena);

/*
 * Take all levels' radices down to two, and that of the widest one to `widest`,
 * where they are larger.  The levels are the arena's.  GT_ESYS when memory ran
 * out.
 */
int gt_plan_shrink_levels(struct gt_plan_shrunk *shrunk,
			  const struct gt_plan *plan, uint32_t widest,
			  struct gt_arena *arena);

#endif
