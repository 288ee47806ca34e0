/*
 * A plan for what is left when ranks of a plan are gone: right by construction,
 * and quick to make from nothing but the plan.  How good it is nobody has
 * asked; a search on the machine may find a better one.
 */
#ifndef GT_PLAN_IR_SURVIVORS_H
#define GT_PLAN_IR_SURVIVORS_H

#include <stdint.h>

struct gt_err;
struct gt_plan;

/*
 * The plan without the ranks r with gone[r], for all collectives that it
 * served; ranks keep their order.  Its rings leave out those that are gone, and
 * where it has none there is one in order of rank.  Hops go over the routes of
 * its proof, at rates that the links hold; where it has no routes links are
 * made up, and rates mean nothing.  Collectives that rings cannot do get a mesh
 * of all pairs.  With `invariant` sums are as an invariant plan's, also where
 * the plan is none.
 *
 * *out is the caller's and needs gt_plan_check() and gt_simulate().  GT_EINPUT
 * when no rank is left or the plan has a demand.
 */
int gt_plan_survivors(const struct gt_plan *plan, const uint8_t *gone,
		      int invariant, struct gt_plan **out, struct gt_err *err);

#endif
