/*
 * Lowering: a plan becomes, per rank, channel and lane, the program that runs
 * (plan/ir/program.h).  Lazy and per rank: nothing of size nranks^2 is built.
 *
 * What a channel can do depends on its shape and on how it is used (struct
 * gt_channel_use): plan/lower/shape.h.
 */
#ifndef GT_PLAN_LOWER_LOWER_H
#define GT_PLAN_LOWER_LOWER_H

#include <stdint.h>

#include "plan/lower/layout.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_plan;

struct gt_lower_query {
	struct gt_channel_use use;
	uint32_t rank;
	uint32_t channel; /* index, not id */
	uint32_t lane;
};

/* The number of programs that each rank has on a channel of this use. */
uint32_t gt_lower_lanes(const struct gt_plan *plan,
			const struct gt_channel_use *use);

/*
 * Lower one lane of a channel for a rank.  The plan must have passed
 * gt_plan_check().  *program's arrays are in the arena.  GT_EINPUT when the
 * channel cannot be used so.
 */
int gt_lower(const struct gt_plan *plan, const struct gt_lower_query *want,
	     struct gt_arena *arena, struct gt_program *program,
	     struct gt_err *err);

#endif
