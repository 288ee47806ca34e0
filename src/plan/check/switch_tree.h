/*
 * Stages of gt_plan_check() for channels through switches that multicast and
 * add up (struct gt_plan_vertex).
 */
#ifndef GT_PLAN_CHECK_SWITCH_TREE_H
#define GT_PLAN_CHECK_SWITCH_TREE_H

#include <stdint.h>

#include "plan/check/use.h"
#include "plan/ir/program.h"

struct gt_err;
struct gt_plan;
struct gt_plan_channel;
struct gt_rat;

/*
 * Is the channel such a tree: has each rank one leaf, are its edges ways along
 * the plan's links, and do only switches and those who drive them pass on?
 */
int gt_check_switch_tree(const struct gt_plan *plan, uint32_t index,
			 struct gt_err *err);

/* Has the use's i-th channel the directions and the root that it needs? */
int gt_check_switch_use(const struct gt_use_check *use, uint32_t i,
			struct gt_err *err);

/*
 * Add what the channel puts on each link: its rate once for each edge that
 * crosses it, however many hang below.  The result is 0 when sums need more
 * than 64 bits.
 */
int gt_check_switch_loads(const struct gt_plan_channel *channel,
			  enum gt_coll coll, struct gt_rat *loads);

#endif
