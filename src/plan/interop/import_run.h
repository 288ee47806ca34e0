/*
 * An algorithm executed on the names of chunks, step by step, while its
 * programs are written down: only so is it known which chunk a message or a
 * scratch place holds, where a sum becomes complete, and whether a place still
 * holds the input.
 */
#ifndef GT_PLAN_INTEROP_IMPORT_RUN_H
#define GT_PLAN_INTEROP_IMPORT_RUN_H

struct gt_import_file;
struct gt_err;
struct gt_plan;

/* plan->programs; GT_EINPUT with the step's place when it cannot be done. */
int gt_import_run(struct gt_import_file *algo, struct gt_plan *plan,
		  struct gt_err *err);

#endif
