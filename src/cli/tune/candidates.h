/*
 * The candidates of `gtopo tune`: every way to use the channels of a plan that
 * an engine may know.
 */
#ifndef GT_CLI_TUNE_CANDIDATES_H
#define GT_CLI_TUNE_CANDIDATES_H

#include <stdint.h>

#include "plan/ir/plan.h"

struct gt_arena;
struct gt_err;

/*
 * Rows without limits, in order of collective; a row with a detour comes behind
 * the one that differs in nothing else.  The arena's.
 */
struct gt_tune_candidates {
	uint32_t n;
	struct gt_plan_select *rows;
};

/*
 * The candidates of the collectives in `colls` (bits).  Channels stand together
 * as they do in some row of select or measurement; meshes go in one shot and in
 * two.  On GPUs meshes go by each of their protocols, and those of
 * gt_detour_is_possible() also with detours.  What would not pass
 * gt_plan_check() or gt_simulate() is left out.
 */
int gt_tune_candidates_find(const struct gt_plan *plan, unsigned colls,
			    int gpus, struct gt_arena *arena,
			    struct gt_tune_candidates *candidates,
			    struct gt_err *err);

#endif
