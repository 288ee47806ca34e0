/*
 * `gtopo run --keep-going`: when processes are gone, those that are left become
 * a job of their own, with a plan for the ranks that they have.
 */
#ifndef GT_CLI_RUN_GOING_H
#define GT_CLI_RUN_GOING_H

#include <stdint.h>

struct gt_err;
struct gt_plan;
struct gt_run_sweep;
struct gt_world;

enum { GT_GOING_WORDS_MAX = 1024 };

/* What has become of a job.  It holds zeros, but for `world`, before. */
struct gt_run_going {
	struct gt_world *world;         /* NULL: this process is alone */
	struct gt_plan *plan;           /* NULL: still the sweep's own */
	uint32_t *starts;               /* as in exec/engine.h */
	char words[GT_GOING_WORDS_MAX]; /* what happened the last time */
};

/*
 * The engine is closed, and failed for the reason in *err.  GT_OK when the job
 * is another one: world, plan and ranks of the sweep are those now, in which
 * `quiet` may have changed.  Else it has failed for good; *err says why.
 */
int gt_run_go_on(struct gt_run_going *going, struct gt_run_sweep *sweep,
		 struct gt_err *err);

/* Free what it has, but for the world. */
void gt_run_going_free(struct gt_run_going *going);

#endif
