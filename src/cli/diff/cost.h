/*
 * This tells what findings cost: the exact all-reduce bound of a server
 * (search/bound/bound.h) without and with each.
 */
#ifndef GT_CLI_DIFF_COST_H
#define GT_CLI_DIFF_COST_H

#include "base/rat.h"

struct gt_arena;
struct gt_diff;
struct gt_err;

struct gt_diff_bound {
	int found; /* no: fewer than two GPUs, or not asked for */
	struct gt_rat gbs;
};

struct gt_diff_costs {
	struct gt_diff_bound norm, other;
	struct gt_diff_bound *each; /* norm with this finding alone */
};

enum { GT_DIFF_MAX_COSTS = 16 }; /* findings; of more only the sum is told */

/* Memory is the arena's; only memory can fail. */
int gt_diff_costs_find(const struct gt_diff *diff, struct gt_arena *arena,
		       struct gt_diff_costs *costs, struct gt_err *err);

#endif
