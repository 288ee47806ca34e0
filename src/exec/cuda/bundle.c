/*
 * The arithmetic of bundles (exec/cuda/bundle.h): which thresholds hold for
 * operations seen together, and how chunks and warps are divided among them.
 */
#include "exec/cuda/bundle.h"

#include "kernels/kernels.h"

enum {
	/*
	 * From so many chunks of LL on, of all operations together, LL128 is
	 * faster.
	 */
	GT_BUNDLE_LL_CHUNKS = 64,
	/* A second trip must save so many chunks that leave a GPU. */
	GT_BUNDLE_TRIP_CHUNKS = 600,
	/*
	 * From so many bytes of all operations on they push, as one operation
	 * does (exec/cuda/tuning.c).
	 */
	GT_BUNDLE_PUSH_BYTES = 6 << 20,
};

/*
 * Push what may be pushed, if all together have as many bytes as one operation
 * needs for that.
 */
static void gt_bundle_pushes(struct gt_bundle_op *ops, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		if (ops[i].push || (ops[i].may_push && !ops[i].is_fixed))
			all += ops[i].bytes;
	for (uint32_t i = 0; all > GT_BUNDLE_PUSH_BYTES && i < n; i++)
		if (ops[i].may_push && !ops[i].is_fixed)
			ops[i].push = 1;
}

static uint32_t gt_chunks_of(uint64_t bytes, int ll128)
{
	uint64_t each = ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA;

	return bytes ? (uint32_t)((bytes + each - 1) / each) : 1;
}

/* How many chunks has a part of the operation? */
static uint32_t gt_bundle_chunks(const struct gt_bundle_op *op, int ll128)
{
	return gt_chunks_of(op->two_shots ? op->slice : op->bytes, ll128);
}

static uint32_t gt_bundle_parts(const struct gt_bundle_op *op)
{
	return op->two_shots ? 2 : 1;
}

/* How many chunks to each other rank do two shots save, if any? */
static uint32_t gt_bundle_saves(const struct gt_bundle_op *op)
{
	uint32_t one = gt_chunks_of(op->bytes, 1);
	uint32_t two = gt_chunks_of(op->slice, 1) * 2;

	if (op->is_fixed || op->push || op->two_shots || !op->slice)
		return 0;
	return one <= two ? 0 : one - two;
}

static void gt_bundle_shots(struct gt_bundle_op *ops, uint32_t n,
			    uint32_t nranks)
{
	uint64_t saved = 0;

	for (uint32_t i = 0; i < n; i++)
		saved += gt_bundle_saves(&ops[i]) * (uint64_t)(nranks - 1);
	if (saved <= GT_BUNDLE_TRIP_CHUNKS)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (gt_bundle_saves(&ops[i]))
			ops[i].two_shots = 1;
}

static void gt_bundle_protocols(struct gt_bundle_op *ops, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!ops[i].push)
			all += gt_bundle_chunks(&ops[i], 0) *
			       gt_bundle_parts(&ops[i]);
	if (all <= GT_BUNDLE_LL_CHUNKS)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (!ops[i].is_fixed && !ops[i].push &&
		    gt_bundle_chunks(&ops[i], 1) < gt_bundle_chunks(&ops[i], 0))
			ops[i].ll128 = 1;
}

void gt_bundle_choose(struct gt_bundle_op *ops, uint32_t n,
		      const struct gt_bundle_limits *limits)
{
	gt_bundle_pushes(ops, n);
	gt_bundle_shots(ops, n, limits->nranks);
	if (limits->has_ll128)
		gt_bundle_protocols(ops, n);
}

/*
 * Give the operation its chunks behind the used[ll] and used[ll128] ones; 0:
 * they do not fit.
 */
static int gt_bundle_place(struct gt_bundle_op *op, uint32_t used[2],
			   const struct gt_bundle_limits *limits)
{
	uint32_t box = op->ll128 != 0;

	op->chunks = gt_bundle_chunks(op, op->ll128);
	op->ll_chunk = used[box];
	if (op->chunks * gt_bundle_parts(op) > limits->chunks[box] - used[box])
		return 0;
	used[box] += op->chunks * gt_bundle_parts(op);
	return 1;
}

/*
 * How many warps does it take so that none has more than `most` chunks to see
 * to, of either part?
 */
static uint32_t gt_bundle_warps(const struct gt_bundle_op *op, uint32_t most)
{
	uint32_t each = most / gt_bundle_parts(op);

	return each < 2 ? op->chunks : (op->chunks + each - 1) / each;
}

static uint64_t gt_bundle_all_warps(const struct gt_bundle_op *ops, uint32_t n,
				    uint32_t most)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += gt_bundle_warps(&ops[i], most);
	return all;
}

/* The fewest chunks for each warp with which there are warps enough. */
static uint32_t gt_bundle_least(const struct gt_bundle_op *ops, uint32_t n,
				uint32_t warps)
{
	uint32_t low = 1, high = 1;

	while (gt_bundle_all_warps(ops, n, high) > warps)
		high *= 2;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (gt_bundle_all_warps(ops, n, middle) > warps)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t gt_bundle_divide(struct gt_bundle_op *ops, uint32_t n,
			  const struct gt_bundle_limits *limits)
{
	uint32_t most =
		limits->ops < limits->warps ? limits->ops : limits->warps;
	uint32_t used[2] = {0, 0}, m = 0, each, warp = 0;

	while (m < n && m < most && gt_bundle_place(&ops[m], used, limits))
		m++;
	each = gt_bundle_least(ops, m, limits->warps);
	for (uint32_t i = 0; i < m; i++) {
		ops[i].warp = warp;
		ops[i].warps = gt_bundle_warps(&ops[i], each);
		warp += ops[i].warps;
	}
	return m;
}
