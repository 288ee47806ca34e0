/*
 * Lowering: a plan becomes, per rank and channel, the program that runs
 * (plan/program.h).  Lazy and per rank: nothing of size nranks^2 is built.
 *
 * The ring schedules are the textbook ones (Patarasuk and Yuan, "Bandwidth
 * optimal all-reduce algorithms for clusters of workstations", 2009): each
 * chunk goes once around to be reduced and once around to be spread.
 */
#ifndef GT_PLAN_LOWER_H
#define GT_PLAN_LOWER_H

#include <stdint.h>

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

/* How much is moved, and how it is cut. */
struct gt_layout_args {
	enum gt_coll coll;
	uint64_t count; /* all-reduce: elements of the buffer; all-gather
				  and reduce-scatter: elements of one block */
	uint32_t elem_bytes;
	uint32_t slice_bytes; /* at least elem_bytes */
	uint32_t nworkers;
	uint32_t nsel;       /* channels used, 0: all of the plan's */
	const uint32_t *sel; /* their indices; shares are scaled to sum 1 */
};

/* The layout of channel index `channel`. */
int gt_layout_init(const struct gt_plan *plan, uint32_t channel,
		   const struct gt_layout_args *args, struct gt_layout *lay,
		   struct gt_err *err);

#endif
