/*
 * Which elements a channel's chunks, workers and slices are, for a given
 * count: the one place where shares become element boundaries, exactly and
 * the same everywhere.  Boundaries fall on multiples of 16 bytes.
 */
#ifndef GT_PLAN_LAYOUT_H
#define GT_PLAN_LAYOUT_H

#include <stdint.h>

#include "plan/program.h"

struct gt_err;
struct gt_plan;
struct gt_plan_channel;

/* How much is moved, and how it is cut. */
struct gt_layout_args {
	enum gt_coll coll;
	uint64_t count; /* all-reduce: elements of the buffer; all-gather
				  and reduce-scatter: elements of one block */
	uint32_t elem_bytes;
	uint32_t slice_bytes; /* at least elem_bytes */
	uint32_t nworkers;
	uint32_t nsel;       /* channels used, 0: all of the plan's */
	const uint32_t *sel; /* their indices; shares are scaled to sum 1 */
};

/*
 * The layout of channel index `channel`.  GT_EINPUT when the arguments make
 * no sense, the channel is not selected, or sizes do not fit.
 */
int gt_layout_init(const struct gt_plan *plan, uint32_t channel,
		   const struct gt_layout_args *args, struct gt_layout *lay,
		   struct gt_err *err);

/*
 * A tree's or a chain's root: a chain's is where its bytes start, or where
 * they end when something is reduced (an all-reduce comes back from there).
 */
uint32_t gt_layout_top(const struct gt_plan_channel *channel,
		       enum gt_coll coll);

/*
 * 1 and the rank whose block alone the channel moves, when it is a tree or a
 * chain of an all-gather or a reduce-scatter; 0 when it moves all of them.
 */
int gt_layout_root(const struct gt_plan_channel *channel, enum gt_coll coll,
		   uint32_t *root);

#endif
