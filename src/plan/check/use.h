/*
 * Checks of one use of channels: a row of select, or a measurement, which names
 * channels, an algorithm, a protocol, workers and a FIFO.
 */
#ifndef GT_PLAN_CHECK_USE_H
#define GT_PLAN_CHECK_USE_H

#include <stdint.h>

struct gt_err;
struct gt_plan;
struct gt_plan_select;

struct gt_use_check {
	const struct gt_plan *plan;
	const struct gt_plan_select *use;
	const char *list; /* "select" or "measurements": `use` is in it ... */
	uint32_t index;   /* ... at this index */
	/*
	 * By channel: 1 + the index that used it last, to find channels that
	 * are named twice.  The caller keeps it for one list, zeroed before the
	 * first use.
	 */
	uint32_t *seen;
};

/* Are the slots and the slice length that the plan's FIFOs have in range? */
int gt_check_fifo(const struct gt_plan *plan, struct gt_err *err);

/* Are channels, workers, FIFO and detour such that the use can be run? */
int gt_check_use(const struct gt_use_check *check, struct gt_err *err);

/*
 * Can the algorithm on these channels do the collective?  The use has passed
 * gt_check_use(); `seen` is not looked at.
 */
int gt_check_use_purpose(const struct gt_use_check *check, struct gt_err *err);

/*
 * Has the i-th channel of the use, a flow, a hop or a path for every pair of
 * ranks that the collective needs?
 */
int gt_check_flow_use(const struct gt_use_check *check, uint32_t i,
		      struct gt_err *err);

#endif
