/*
 * Which elements a channel's chunks, workers and slices are, for a given count:
 * the one place where shares become element boundaries, exactly and the same
 * everywhere.  Boundaries fall on multiples of 16 bytes.
 */
#ifndef GT_PLAN_LOWER_LAYOUT_H
#define GT_PLAN_LOWER_LAYOUT_H

#include <stdint.h>

#include "plan/ir/plan.h"
#include "plan/ir/program.h"

struct gt_err;

/*
 * A use of a channel: for what and how, as a row of `select` says, and with
 * which root.
 */
struct gt_channel_use {
	enum gt_coll coll;
	enum gt_algo algo;
	uint32_t root; /* of collectives that have one */
};

/* How much is moved, and how it is cut. */
struct gt_layout_args {
	struct gt_channel_use use;
	uint64_t count; /* elements of a block (plan/ir/program.h) */
	uint32_t elem_bytes;
	uint32_t slice_bytes; /* at least elem_bytes */
	uint32_t nworkers;
	uint32_t nsel;       /* number of channels used, 0: all of the plan's */
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
 * The layout where the collective has the plan's demand, args->count being the
 * elements of the largest block; spans[from * nranks + to] are the pairs'.
 */
int gt_layout_init_demand(const struct gt_plan *plan, uint32_t channel,
			  const struct gt_layout_args *args,
			  struct gt_layout_span *spans, struct gt_layout *lay,
			  struct gt_err *err);

/*
 * The number of chunks that the channel's part of all blocks is divided into.
 */
uint32_t gt_layout_nchunks(const struct gt_plan *plan, uint32_t channel,
			   const struct gt_channel_use *use);

/*
 * How much of the index space of the whole buffer a rank's input, or its
 * output, has.
 */
enum gt_extent {
	GT_EXTENT_NONE,
	GT_EXTENT_OWN, /* its own block */
	GT_EXTENT_ALL,
};

enum gt_extent gt_layout_input(const struct gt_channel_use *use, uint32_t rank);
enum gt_extent gt_layout_output(const struct gt_channel_use *use,
				uint32_t rank);

/*
 * The root of a tree or of a chain.  A chain's is where its bytes start, or
 * where they end when something is reduced (an all-reduce comes back from
 * there).
 */
uint32_t gt_layout_tree_root(const struct gt_plan_channel *channel,
			     enum gt_coll coll);

/*
 * Is the channel a tree or a chain of an all-gather or a reduce-scatter, which
 * moves one rank's block alone?  Then *root is that rank; other channels move
 * parts of all blocks.
 */
int gt_layout_only_block(const struct gt_plan_channel *channel,
			 enum gt_coll coll, uint32_t *root);

#endif
