/*
 * Algorithms made elsewhere, as plans of explicit steps.
 */
#ifndef GT_PLAN_INTEROP_IMPORT_H
#define GT_PLAN_INTEROP_IMPORT_H

#include <stddef.h>

struct gt_err;
struct gt_plan;

/*
 * Make the plan do what the file ("-": standard input) says, an MSCCL
 * algorithm or an MSCCL++ execution plan: thread blocks become lanes, what
 * they wait for of each other connections of a rank with itself, what they
 * send, put or get messages.  The plan must have one mesh channel, whose
 * routes are taken; its collective becomes the algorithm's, and it has no
 * proof.  What is for buffers in place is made to work out of place as well.
 *
 * What the algorithm computes is not looked at: gt_simulate() tells.
 * GT_EINPUT with the place when it is no algorithm, cannot be said in steps,
 * or is not for as many GPUs as the plan has ranks.
 */
int gt_import(const char *path, struct gt_plan *plan, struct gt_err *err);

/* Import from `len` bytes of text; messages call it `name`. */
int gt_import_parse(const char *name, const char *text, size_t len,
		    struct gt_plan *plan, struct gt_err *err);

#endif
