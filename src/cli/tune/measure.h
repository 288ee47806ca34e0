/*
 * One measurement of a row of select, on an engine that is open.  Candidates
 * (sweep.c) and fewer blocks (knee.c) are measured alike.
 */
#ifndef GT_CLI_TUNE_MEASURE_H
#define GT_CLI_TUNE_MEASURE_H

#include "cli/tune/sweep.h"

struct gt_tuning {
	struct gt_tune_sweep *sweep;
	struct gt_plan plan; /* the engine's */
	struct gt_engine *engine;
	int64_t awake_ns; /* how long something has been run */
};

/* The bytes that are measured in place of so many: whole blocks; 0: none. */
uint64_t gt_tune_round(const struct gt_tuning *t, enum gt_coll coll,
		       uint64_t bytes);

/*
 * Measure the row that the engine's plan has for these bytes, above 0, which
 * gt_tune_round() has made.  *time_us is INFINITY when the engine takes another
 * way than the row's.  GT_ENO, and the sweep's refuse(), for wrong results.
 */
int gt_tune_measure(struct gt_tuning *t, const struct gt_plan_select *use,
		    uint64_t bytes, double *time_us, struct gt_err *err);

#endif
