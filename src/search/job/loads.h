/*
 * What the plan of a group puts on links, for each byte of its buffer.
 */
#ifndef GT_SEARCH_JOB_LOADS_H
#define GT_SEARCH_JOB_LOADS_H

#include <stdint.h>

#include "plan/ir/program.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_group_load;
struct gt_job_links;
struct gt_plan;

/* Where a group is: `ngpus` GPUs, the same numbers in each of its nodes. */
struct gt_group_place {
	enum gt_coll coll;
	uint32_t nnodes, ngpus;
	const uint32_t *nodes; /* ascending */
	const uint32_t *gpus;  /* numbers in order of dev, in order of rank */
};

struct gt_group_plan {
	struct gt_group_place place; /* of the first group that has it */
	const struct gt_plan *plan;
	double algbw_gbs;
	/* What no schedule over the routes between its GPUs exceeds, proven by
	 * the plan; 0: nothing is. */
	double bound_gbs;
	uint32_t nloads, loads_room;
	struct gt_group_load *loads;
};

/*
 * Add up the loads of the plan of a group, which is for one machine (part is
 * NULL), for nodes that are alike, or lists the ranks of a part of a cluster.
 * GT_ENO for plans of other shapes.
 */
int gt_group_loads_find(struct gt_group_plan *group, struct gt_job_links *links,
			const struct gt_cluster *part, struct gt_err *err);

#endif
