/*
 * Which rank goes to which GPU: nestings of the job's axes, each the product of
 * what goes on within a node and among nodes, ordered by their bound.
 *
 * A nesting takes of each axis a part that divides its size into the node, the
 * rest to the nodes; within each the axes follow in some order, the first one
 * the fastest.  On one machine of up to 8 GPUs that no NVSwitches join all
 * placements (search/job/placements.h) stand in for nestings.  They are bounded
 * (search/job/bound.h) and planned in order of their bounds, until the next
 * bound is no less than the least time of bytes that was found, and than the
 * least with latency or a few were planned for that, or the budget is spent.
 * Of those that were planned and the order of numbers the one is
 * taken that is quickest with latency counted.  How good its time of bytes is
 * among all assignments their bound tells.
 */
#ifndef GT_SEARCH_JOB_ASSIGN_H
#define GT_SEARCH_JOB_ASSIGN_H

#include <stdint.h>

#include "base/err.h"
#include "search/job/cost.h"

struct gt_arena;
struct gt_group_plan;
struct gt_site;
struct gt_workload;

struct gt_assignment {
	uint32_t *place; /* rank -> place (search/job/site.h) */
	double bound_s;  /* what it takes at least (search/job/bound.h) */
	int planned;     /* is the cost known? */
	struct gt_job_cost cost;
	struct gt_err why; /* why it is not */
};

struct gt_assign {
	/* Rank r on the r-th GPU; job.by_node: on the next node in turn. */
	struct gt_assignment by_number;
	struct gt_assignment best;    /* planned */
	double bound_s;               /* what any assignment takes at least */
	int joint;                    /* nodes were bounded, not only GPUs */
	uint64_t nnestings, nplanned; /* or placements on one machine */
	int complete; /* all nestings were planned or are bounded by the best */
};

/*
 * Find the best nesting.  GT_ENO, and why, when no assignment can be planned;
 * GT_EINPUT when there are fewer GPUs than ranks.  Memory is the arena's.
 */
int gt_assign_find(const struct gt_job_query *job, struct gt_arena *arena,
		   struct gt_assign *assign, struct gt_err *err);

/* Are all placements of the ranks tried, rather than nestings of the axes? */
int gt_assign_is_of_machine(const struct gt_workload *workload,
			    const struct gt_site *site);

/* Is the plan one of the best assignment or of that by number? */
int gt_assign_uses(const struct gt_assign *assign,
		   const struct gt_workload *workload,
		   const struct gt_group_plan *plan);

#endif
