/*
 * Shares of channels as element boundaries, exactly, and how they are cut into
 * chunks, workers' parts and slices.
 */
#include "plan/lower/layout.h"

#include "base/err.h"
#include "base/rat.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"

enum { GT_LAYOUT_ALIGN_BYTES = 16 };

/* The begin and the end of a channel's share, as fractions of a block. */
struct gt_span {
	struct gt_rat begin, end;
};

static uint32_t gt_sel_channel(const struct gt_layout_args *args, uint32_t i)
{
	return args->nsel ? args->sel[i] : i;
}

uint32_t gt_layout_nchunks(const struct gt_plan *plan, uint32_t channel,
			   const struct gt_channel_use *use)
{
	if (use->algo == GT_ALGO_STEPS)
		return plan->channels[channel].nchunks;
	if (gt_coll_has_blocks(use->coll) || use->algo == GT_ALGO_TWO_SHOT ||
	    use->algo == GT_ALGO_HIER ||
	    (use->algo == GT_ALGO_RING && use->coll == GT_COLL_ALLREDUCE))
		return plan->nranks;
	return 1;
}

enum gt_extent gt_layout_input(const struct gt_channel_use *use, uint32_t rank)
{
	switch (use->coll) {
	case GT_COLL_ALLGATHER:
	case GT_COLL_GATHER:
		return GT_EXTENT_OWN;
	case GT_COLL_BROADCAST:
	case GT_COLL_SCATTER:
		return rank == use->root ? GT_EXTENT_ALL : GT_EXTENT_NONE;
	default:
		return GT_EXTENT_ALL;
	}
}

enum gt_extent gt_layout_output(const struct gt_channel_use *use, uint32_t rank)
{
	switch (use->coll) {
	case GT_COLL_REDUCESCATTER:
	case GT_COLL_SCATTER:
		return GT_EXTENT_OWN;
	case GT_COLL_REDUCE:
	case GT_COLL_GATHER:
		return rank == use->root ? GT_EXTENT_ALL : GT_EXTENT_NONE;
	default:
		return GT_EXTENT_ALL;
	}
}

uint32_t gt_layout_tree_root(const struct gt_plan_channel *channel,
			     enum gt_coll coll)
{
	if (channel->shape == GT_SHAPE_TREE)
		return channel->root;
	if (channel->shape == GT_SHAPE_SWITCH)
		return channel->vertices[0].rank;
	return channel->order[gt_coll_goes_up(coll) ? channel->norder - 1 : 0];
}

int gt_layout_only_block(const struct gt_plan_channel *channel,
			 enum gt_coll coll, uint32_t *root)
{
	if ((coll != GT_COLL_ALLGATHER && coll != GT_COLL_REDUCESCATTER) ||
	    (channel->shape != GT_SHAPE_TREE &&
	     channel->shape != GT_SHAPE_CHAIN &&
	     channel->shape != GT_SHAPE_SWITCH))
		return 0;
	*root = gt_layout_tree_root(channel, coll);
	return 1;
}

/* Do two channels move the same blocks?  Channels of different roots do not. */
static int gt_span_shares(const struct gt_plan_channel *a,
			  const struct gt_plan_channel *b, enum gt_coll coll)
{
	uint32_t root_a = 0, root_b = 0;

	return gt_layout_only_block(a, coll, &root_a) ==
		       gt_layout_only_block(b, coll, &root_b) &&
	       root_a == root_b;
}

/*
 * Find the channel's span: the shares of the selected channels that move the
 * same blocks, one behind the other, scaled to sum 1.  The result is 0 when the
 * channel is not selected or the sums do not fit.
 */
static int gt_span_find(const struct gt_plan *plan, uint32_t channel,
			const struct gt_layout_args *args, struct gt_span *span)
{
	uint32_t n = args->nsel ? args->nsel : plan->nchannels;
	struct gt_rat sum = GT_RAT(0, 1), before;
	int found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = gt_sel_channel(args, i);

		if (at >= plan->nchannels)
			return 0;
		if (!gt_span_shares(&plan->channels[at],
				    &plan->channels[channel], args->use.coll))
			continue;
		before = sum;
		if (!gt_rat_add(sum, plan->channels[at].share, &sum))
			return 0;
		if (at != channel)
			continue;
		found = 1;
		*span = (struct gt_span){before, sum};
	}
	return found && gt_rat_div(span->begin, sum, &span->begin) &&
	       gt_rat_div(span->end, sum, &span->end);
}

static uint64_t gt_span_cut(struct gt_rat at, uint64_t len, uint32_t align)
{
	uint64_t cut;

	if (!gt_rat_cmp(at, GT_RAT(1, 1)))
		return len;
	cut = (uint64_t)gt_rat_floor_mul(at, (int64_t)len);
	return cut - cut % align;
}

/*
 * The length of the longest of the workers' parts of a chunk of len elements.
 */
static uint64_t gt_part_max(const struct gt_layout *lay, uint64_t len)
{
	uint64_t longest = 0, begin = 0, end;

	for (uint32_t w = 1; w <= lay->nworkers; w++) {
		end = gt_cut(len, w, lay->nworkers, lay->align_elems);
		if (end - begin > longest)
			longest = end - begin;
		begin = end;
	}
	return longest;
}

/*
 * The length of the longest part of any chunk.  Neighbouring chunks mostly have
 * one length, so few are looked into.
 */
static uint64_t gt_layout_longest(const struct gt_layout *lay)
{
	uint64_t len = lay->hi - lay->lo, longest = 0, begin = 0, end, part;
	uint64_t last = 0;

	for (uint32_t c = 1; c <= lay->per_block; c++) {
		end = gt_cut(len, c, lay->per_block, lay->align_elems);
		if (end - begin != last) {
			last = end - begin;
			part = gt_part_max(lay, last);
			if (part > longest)
				longest = part;
		}
		begin = end;
	}
	return longest;
}

/*
 * Set the alignment and the slice, in elements.  A slice is a multiple of the
 * alignment unless it is shorter than that.
 */
static void gt_layout_grain(const struct gt_layout_args *args,
			    struct gt_layout *lay)
{
	uint32_t slice = args->slice_bytes / args->elem_bytes;
	uint32_t align = GT_LAYOUT_ALIGN_BYTES / args->elem_bytes;

	if (!align)
		align = 1;
	if (slice > align)
		slice -= slice % align;
	lay->align_elems = align;
	lay->slice_elems = slice;
}

static int gt_layout_args_check(const struct gt_plan *plan,
				const struct gt_layout_args *args,
				struct gt_err *err)
{
	uint64_t blocks = gt_coll_has_blocks(args->use.coll) ? plan->nranks : 1;
	uint64_t bytes;

	if (!args->elem_bytes || args->slice_bytes < args->elem_bytes)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a slice of %u bytes does not hold an "
				  "element of %u bytes",
				  args->slice_bytes, args->elem_bytes);
	if (!args->nworkers || args->nworkers > INT32_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%u' workers are not possible",
				  args->nworkers);
	if (__builtin_mul_overflow(args->count, args->elem_bytes, &bytes) ||
	    __builtin_mul_overflow(bytes, blocks, &bytes) || bytes > INT64_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%llu elements of %u bytes are too many",
				  (unsigned long long)args->count,
				  args->elem_bytes);
	return GT_OK;
}

int gt_layout_init(const struct gt_plan *plan, uint32_t channel,
		   const struct gt_layout_args *args, struct gt_layout *lay,
		   struct gt_err *err)
{
	struct gt_layout made = {.nworkers = args->nworkers};
	struct gt_span span;
	uint64_t loops;
	int rc = gt_layout_args_check(plan, args, err);

	if (rc)
		return rc;
	if (!gt_span_find(plan, channel, args, &span))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u has no share of this selection",
				  plan->channels[channel].id);
	gt_layout_grain(args, &made);
	made.block_elems = args->count;
	made.nchunks = gt_layout_nchunks(plan, channel, &args->use);
	made.per_block = gt_coll_has_blocks(args->use.coll)
				 ? made.nchunks / plan->nranks
				 : made.nchunks;
	if (!made.per_block || made.nchunks % made.per_block)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: %u chunks are not whole blocks",
				  plan->channels[channel].id, made.nchunks);
	made.lo = gt_span_cut(span.begin, args->count, made.align_elems);
	made.hi = gt_span_cut(span.end, args->count, made.align_elems);
	loops = gt_layout_longest(&made);
	loops = loops / made.slice_elems + !!(loops % made.slice_elems);
	if (loops > UINT32_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%llu slices are too many; use a larger "
				  "slice",
				  (unsigned long long)loops);
	made.loops = (uint32_t)loops;
	*lay = made;
	return GT_OK;
}

int gt_layout_init_demand(const struct gt_plan *plan, uint32_t channel,
			  const struct gt_layout_args *args,
			  struct gt_layout_span *spans, struct gt_layout *lay,
			  struct gt_err *err)
{
	struct gt_layout_args of = *args;
	struct gt_layout pair;
	int rc = gt_layout_init(plan, channel, args, lay, err);

	for (uint32_t i = 0; !rc && i < plan->nranks * plan->nranks; i++) {
		of.count = gt_demand_elems(plan->demand, i, args->count);
		rc = gt_layout_init(plan, channel, &of, &pair, err);
		if (rc)
			break;
		spans[i] = (struct gt_layout_span){pair.lo, pair.hi};
		/* Rounding may leave a shorter block a longer part. */
		if (pair.loops > lay->loops)
			lay->loops = pair.loops;
	}
	return rc;
}
