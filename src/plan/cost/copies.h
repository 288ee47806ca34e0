/*
 * The time of copy engines that carry a message through the host's memory
 * (exec/cuda/p2p/detour.c).  They do not pass on bytes as these come: all ranks
 * put a chunk out while they take the one before, and meet, chunk after chunk.
 *
 * So there is a step for each chunk and some to begin and to end with; hop_us
 * is what meeting adds to a step, and the copies of a step last as long as the
 * busiest link serves them.
 */
#ifndef GT_PLAN_COST_COPIES_H
#define GT_PLAN_COST_COPIES_H

#include "plan/cost/params.h"
#include "plan/ir/plan.h"

/* A message: what it is for, and how much of it. */
struct gt_cost_copies {
	uint32_t nranks;
	enum gt_coll coll;
	double bytes;   /* of the larger of input and output */
	double busy_us; /* for how long the busiest link serves it */
};

/* The time without what is before and behind the message (host_base_us). */
double gt_cost_copies_us(const struct gt_cost_copies *copies,
			 const struct gt_cost_params *params);

#endif
