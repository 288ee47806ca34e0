/*
 * The part of `gtopo tune` behind its options: measure every candidate at every
 * size on one engine, and put what came out into the plan.
 */
#ifndef GT_CLI_TUNE_SWEEP_H
#define GT_CLI_TUNE_SWEEP_H

#include <stdint.h>

#include "exec/engine.h"
#include "plan/ir/plan.h"

struct gt_arena;
struct gt_err;
struct gt_plan;

/*
 * The candidates: every way to use the channels of a plan that an engine may
 * know.  Rows without limits, in order of collective; a row with a detour comes
 * behind the one that differs in nothing else.  The arena's.
 */
struct gt_tune_candidates {
	uint32_t n;
	struct gt_plan_select *rows;
};

/*
 * candidates.c: the candidates of the collectives in `colls` (bits).  Channels
 * stand together as they do in some row of select or measurement; meshes go in
 * one shot and in two.  On GPUs meshes go by each of their protocols, and those
 * of gt_detour_is_possible() also with detours.  What would not pass
 * gt_plan_check() or gt_simulate() is left out.
 */
int gt_tune_candidates_find(const struct gt_plan *plan, unsigned colls,
			    int gpus, struct gt_arena *arena,
			    struct gt_tune_candidates *candidates,
			    struct gt_err *err);

struct gt_tune_sweep {
	const struct gt_engine_ops *ops;
	struct gt_engine_config config; /* plan and max_bytes are set here */
	struct gt_plan *plan;
	const char *machine;
	struct gt_tune_candidates candidates;
	uint64_t begin_bytes, end_bytes, factor;
	uint32_t max_blocks; /* GPUs: of all candidates, so of all rows; 0: any
			      */
	int knees; /* GPUs: find out how few blocks will do (knee.h) */
	/* Called before each measurement, the `done`th of `all`. */
	void (*tell)(void *arg, const struct gt_plan_select *row,
		     uint64_t bytes, uint32_t done, uint32_t all);
	/*
	 * Called when a candidate computes something wrong: it is not chosen.
	 */
	void (*refuse)(void *arg, const struct gt_plan_select *row,
		       uint64_t bytes, uint64_t wrong);
	void *arg;
	uint32_t refused; /* set here: how many */
};

/*
 * Measurements of the candidates' collectives are replaced, select is rewritten
 * (gt_plan_measured_select()).  After a failure the plan is of no use.
 */
int gt_tune_sweep(struct gt_tune_sweep *sweep, struct gt_err *err);

#endif
