/*
 * Layouts for many counts, types and numbers of workers: channels, workers and
 * slices have to tile every block without gaps or overlaps.
 */
#include "plan/simulate/simulate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "plan/lower/layout.h"
#include "plan/ir/plan.h"

static const uint64_t gt_tile_counts[] = {
	0,       1,       2,        3,          5,
	7,       16,      61,       1009,       65537,
	1048576, 1048583, 16777216, 1000000007, 1099511627791,
};

enum {
	GT_TILE_COUNTS = sizeof(gt_tile_counts) / sizeof(gt_tile_counts[0]),
	GT_TILE_HUGE = 1 << 24,
};

static int gt_tile_wrong(const struct gt_plan *plan, uint32_t channel,
			 const struct gt_layout_args *args, struct gt_err *err)
{
	return gt_err_set(err, GT_ENO, plan->file,
			  "%s of %" PRIu64 " elements: channel %u, worker or "
			  "slice does not begin where the one before ends",
			  gt_coll_name(args->use.coll), args->count,
			  plan->channels[channel].id);
}

/* Do the slices of a worker's part cover it, and stop at its end? */
static int gt_tile_slices(const struct gt_layout *lay, uint32_t chunk,
			  uint32_t worker, struct gt_range part)
{
	uint64_t used = part.count / lay->slice_elems;
	struct gt_range last, past;

	if ((uint64_t)lay->loops * lay->slice_elems < part.count)
		return 0;
	last = gt_layout_slice(lay, chunk, worker,
			       (uint32_t)(used - (used && used == lay->loops)));
	past = gt_layout_slice(lay, chunk, worker, lay->loops);
	return last.offset + last.count == part.offset + part.count &&
	       !past.count;
}

/* The chunks that a channel moves: all, or those of its root's block alone. */
struct gt_tile_chunks {
	uint32_t begin, end;
};

/*
 * Does a channel tile its part of every block, which begins at *at?  *at
 * becomes its end.
 */
static int gt_tile_channel(const struct gt_layout *lay,
			   struct gt_tile_chunks chunks, uint64_t *at)
{
	uint64_t begin = *at, next = begin, block;
	struct gt_range part;

	if (lay->lo != begin || lay->hi < begin)
		return 0;
	for (uint32_t c = chunks.begin; c < chunks.end; c++) {
		block = c / lay->per_block * lay->block_elems;
		if (!(c % lay->per_block))
			next = begin + block;
		for (uint32_t w = 0; w < lay->nworkers; w++) {
			part = gt_layout_part(lay, c, w);
			if (part.offset != next ||
			    !gt_tile_slices(lay, c, w, part))
				return 0;
			next += part.count;
		}
		if (!((c + 1) % lay->per_block) && next != lay->hi + block)
			return 0;
	}
	*at = lay->hi;
	return 1;
}

/*
 * Lay the channels one behind the other.  ends[b] is how far block b is
 * covered; for channels without roots ends[0] stands for all blocks.
 */
static int gt_tile_ends(const struct gt_plan *plan,
			const struct gt_layout_args *args, uint64_t *ends,
			struct gt_err *err)
{
	uint32_t n = args->nsel ? args->nsel : plan->nchannels, root;
	struct gt_layout lay;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t channel = args->nsel ? args->sel[i] : i;
		struct gt_tile_chunks chunks = {0, 0};

		rc = gt_layout_init(plan, channel, args, &lay, err);
		if (rc)
			return rc;
		root = 0;
		chunks.end = lay.nchunks;
		if (gt_layout_only_block(&plan->channels[channel],
					 args->use.coll, &root))
			chunks = (struct gt_tile_chunks){root, root + 1};
		if (!gt_tile_channel(&lay, chunks, &ends[root]))
			return gt_tile_wrong(plan, channel, args, err);
	}
	return GT_OK;
}

static int gt_tile_count(const struct gt_plan *plan,
			 const struct gt_layout_args *args, struct gt_err *err)
{
	uint32_t first = args->nsel ? args->sel[0] : 0, root;
	uint32_t nends = 1;
	uint64_t *ends = calloc(plan->nranks, sizeof(*ends));
	int rc;

	if (!ends)
		return gt_err_nomem(err);
	if (gt_layout_only_block(&plan->channels[first], args->use.coll, &root))
		nends = plan->nranks;
	rc = gt_tile_ends(plan, args, ends, err);
	for (uint32_t b = 0; b < nends && !rc; b++)
		if (ends[b] != args->count)
			rc = gt_err_set(err, GT_ENO, plan->file,
					"%s: no channel moves the end of rank "
					"%u's block",
					gt_coll_name(args->use.coll), b);
	free(ends);
	return rc;
}

/* Try all counts, while element sizes and numbers of workers take turns. */
static int gt_tile_selection(const struct gt_plan *plan,
			     struct gt_layout_args *args, uint32_t workers,
			     struct gt_err *err)
{
	const uint32_t nworkers[] = {1, workers, 3};
	int rc = GT_OK;

	for (uint32_t i = 0; i < GT_TILE_COUNTS && !rc; i++) {
		args->count = gt_tile_counts[i];
		args->elem_bytes = 1u << i % 4;
		args->nworkers = nworkers[i % 3];
		args->slice_bytes = plan->fifo_slice_bytes;
		/* Huge buffers have more small slices than can be counted. */
		if (args->count > GT_TILE_HUGE)
			args->slice_bytes = 1 << 20;
		rc = gt_tile_count(plan, args, err);
	}
	return rc;
}

int gt_simulate_layouts(const struct gt_plan *plan, enum gt_coll coll,
			struct gt_err *err)
{
	struct gt_layout_args args = {.use = {coll, 0, plan->root}};
	int rc = GT_OK;

	for (uint32_t row = 0; row < plan->nselect && !rc; row++) {
		const struct gt_plan_select *select = &plan->select[row];

		args.nsel = select->nchannels;
		args.sel = select->channels;
		args.use.algo = select->algo;
		if (gt_plan_row_serves(plan, select, coll))
			rc = gt_tile_selection(plan, &args, select->workers,
					       err);
	}
	return rc;
}
