/*
 * Lowering: a plan becomes, per rank and channel, the program that runs
 * (plan/program.h).  Lazy and per rank: nothing of size nranks^2 is built.
 *
 * The ring schedules are the textbook ones (Patarasuk and Yuan, "Bandwidth
 * optimal all-reduce algorithms for clusters of workstations", 2009): each
 * chunk goes once around to be reduced and once around to be spread.  A ring
 * can do every collective; a tree or chain only the plan's own, which it was
 * drawn for (plan/lower_tree.h).
 */
#ifndef GT_PLAN_LOWER_H
#define GT_PLAN_LOWER_H

#include <stdint.h>

#include "plan/layout.h"
#include "plan/program.h"

struct gt_arena;
struct gt_err;
struct gt_plan;

/*
 * What rank `rank` does on channel number `channel` (index, not id) for the
 * collective `coll`.  The plan must have passed gt_plan_check().  *program's
 * arrays are in the arena.  GT_EINPUT when the channel's shape cannot do coll.
 */
int gt_lower(const struct gt_plan *plan, enum gt_coll coll, uint32_t rank,
	     uint32_t channel, struct gt_arena *arena,
	     struct gt_program *program, struct gt_err *err);

#endif
