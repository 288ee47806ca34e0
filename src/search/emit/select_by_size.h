/*
 * The choice of channels by size: the plans of all shapes, and the mesh of all
 * pairs, priced by the cost model (plan/cost/cost.h) from 8 bytes to 256 GiB,
 * in one plan.
 *
 * The last row of `select` is the plan with the largest bandwidth, and its
 * proof is the plan's.  Below stand what is quicker while latency counts: the
 * rows follow the lower envelope of the prices, changing only for 3% or more.
 */
#ifndef GT_SEARCH_EMIT_SELECT_BY_SIZE_H
#define GT_SEARCH_EMIT_SELECT_BY_SIZE_H

#include <stdint.h>

#include "base/err.h"

struct gt_plan;

/* The plans that were tried in turn, and the error of the last try. */
enum { GT_BY_SIZE_TRIES = 4 };
struct gt_by_size_tries {
	struct gt_plan *plans[GT_BY_SIZE_TRIES];
	uint32_t n;
	uint32_t best; /* gt_by_size_take(): the one that was taken */
	int rc;
	struct gt_err why;
};

/*
 * Make one of `n` plans (at least one) for the same request: *best, an index,
 * is the one that the others were merged into.
 */
int gt_by_size_choose(struct gt_plan **plans, uint32_t n, uint32_t *best,
		      struct gt_err *err);

/*
 * Choose among tries, and take their plans.  The failure of the last try is the
 * result, unless it merely has no plan (GT_ENO) and others have one.
 */
int gt_by_size_take(struct gt_by_size_tries *tries, struct gt_plan **plan,
		    struct gt_err *err);

#endif
