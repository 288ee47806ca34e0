/*
 * Algorithms made elsewhere, as plans of explicit steps.
 */
#ifndef GT_PLAN_IMPORT_H
#define GT_PLAN_IMPORT_H

struct gt_err;
struct gt_plan;

/*
 * Make the plan do what the MSCCL algorithm in the file ("-": standard input)
 * does: thread blocks become lanes, their dependencies connections of a rank
 * with itself.  The plan must have one mesh channel, whose routes are taken;
 * its collective becomes the algorithm's, and it has no proof.  Where the
 * algorithm is for buffers in place, it is made to work out of place as well.
 *
 * What the algorithm computes is not looked at: gt_simulate() tells.
 * GT_EINPUT with file and line when it is no algorithm, or not for as many
 * GPUs as the plan has ranks.
 */
int gt_import_msccl(const char *path, struct gt_plan *plan, struct gt_err *err);

#endif
