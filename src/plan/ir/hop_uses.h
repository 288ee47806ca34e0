/*
 * How often a channel's hops are taken.  The hops of a ring, a tree or a mesh
 * are taken once, by all that the channel moves; those of a flow once for each
 * pair of ranks whose path they are on, in units where there is a demand.  A
 * collective that only moves blocks (gt_coll_only_moves()) does not take hops
 * that no pair needs.
 */
#ifndef GT_PLAN_IR_HOP_USES_H
#define GT_PLAN_IR_HOP_USES_H

#include <stdint.h>

struct gt_plan;
struct gt_plan_channel;
struct gt_plan_select;

/*
 * Fill uses[hop] for a channel of the row, which is of any shape but steps and
 * has passed gt_check_channels().  A hop carries so many times the channel's
 * gbs, over gt_plan_most_units().  Only GT_ESYS (memory) can fail.
 */
int gt_plan_hop_uses(const struct gt_plan *plan,
		     const struct gt_plan_select *row,
		     const struct gt_plan_channel *channel, uint32_t *uses);

#endif
