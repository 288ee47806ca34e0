/*
 * This tells what findings cost: how many GPUs are left, and the exact
 * all-reduce bound inside a server (search/bound/bound.h) and of a job of
 * several such servers (search/cluster/cut_bound.h), without and with each
 * finding.
 */
#ifndef GT_CLI_DIFF_COST_H
#define GT_CLI_DIFF_COST_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_diff;
struct gt_err;

struct gt_diff_bound {
	int asked; /* no: it is no machine, or one of too many findings */
	uint32_t ngpus;
	int found;                 /* no: fewer than two GPUs */
	struct gt_rat gbs;         /* of a ring's rate, that is, busbw */
	int found_between;         /* no: no ports, or no route to them */
	struct gt_rat between_gbs; /* busbw, too */
};

struct gt_diff_costs {
	struct gt_diff_bound norm, other;
	struct gt_diff_bound *each; /* norm with this finding alone */
};

enum { GT_DIFF_MAX_COSTS = 16 }; /* findings; of more only the sum is told */

/*
 * Find the costs for a job of `nnodes` nodes, 2 or more, which are joined by
 * the ports near their GPUs.  Memory is the arena's; only memory can fail.
 */
int gt_diff_costs_find(const struct gt_diff *diff, uint32_t nnodes,
		       struct gt_arena *arena, struct gt_diff_costs *costs,
		       struct gt_err *err);

/*
 * Order findings by what each costs: GPUs first, then the bounds; those that
 * cost the same stay in the file's order.
 */
void gt_diff_costs_sort(struct gt_diff *diff, struct gt_diff_costs *costs);

#endif
