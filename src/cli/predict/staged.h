/*
 * A plan as engines run it on GPUs of which some do not reach each other
 * (docs/design/engine-gpu-staged.md), for predictions: what it costs there, if
 * it was made for GPUs that do.
 */
#ifndef GT_CLI_PREDICT_STAGED_H
#define GT_CLI_PREDICT_STAGED_H

#include <stdint.h>

struct gt_err;
struct gt_plan;

/* The machine that says who reaches whom. */
struct gt_predict_machine {
	const char *path; /* of its topology, or NULL: the plan's hops say it */
	const char *p2p;  /* GPUs that are apart besides, or NULL */
};

/*
 * If two of the plan's GPUs do not reach each other on the machine, have all
 * hops of the plan go through its host's memory, as engines then do, and its
 * rows by what serves there; what was measured goes, as it was with access.  A
 * plan whose hops go so already does not change.  Sets *apart to the number of
 * pairs that have no access.  GT_EINPUT for a machine that is not the plan's,
 * and for several nodes, which have links between them.
 */
int gt_predict_stage(const struct gt_predict_machine *machine,
		     struct gt_plan *plan, uint32_t *apart, struct gt_err *err);

#endif
