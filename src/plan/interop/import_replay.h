/*
 * An algorithm executed on the names of chunks, step by step, while its
 * programs are written down: only so is it known which chunk a message or a
 * scratch place holds, where a sum becomes complete, and whether a place still
 * holds the input.
 */
#ifndef GT_PLAN_INTEROP_IMPORT_REPLAY_H
#define GT_PLAN_INTEROP_IMPORT_REPLAY_H

struct gt_import_file;
struct gt_err;
struct gt_plan;

/*
 * Fill plan->programs.  GT_EINPUT with the step's place when a step cannot be
 * executed.
 */
int gt_import_replay(struct gt_import_file *algo, struct gt_plan *plan,
		     struct gt_err *err);

#endif
