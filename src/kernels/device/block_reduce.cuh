/*
 * Reducing a block: all threads of a launch together reduce any number of
 * sources in their order and write any number of destinations, which may lie on
 * any GPU.
 *
 * As in move.cuh, packs of 16 bytes are used where all lie equally far from a
 * 16-byte boundary; a thread has U packs of up to four sources in flight, or,
 * where threads are few, GT_BLOCK_REDUCE_WIDE of up to two.
 *
 * One source alone is copied bit by bit, NaNs too.
 */
#ifndef GT_KERNELS_DEVICE_BLOCK_REDUCE_CUH
#define GT_KERNELS_DEVICE_BLOCK_REDUCE_CUH

#include "kernels/kernels.h"
#include "kernels/device/move.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/total.cuh"

#ifndef GT_BLOCK_REDUCE_UNROLL
#define GT_BLOCK_REDUCE_UNROLL 2
#endif

enum {
	GT_BLOCK_REDUCE_MORE = 3, /* sources in flight besides the first */
	/*
	 * What is in flight over a round trip bounds what a thread moves: so
	 * many packs of each source where no more threads than this work
	 * together.  More threads fill the links with fewer packs.
	 */
	GT_BLOCK_REDUCE_WIDE = 8,
	GT_BLOCK_REDUCE_FEW_THREADS = 32 * 512,
};

struct gt_block_reduce {
	const char *src[GT_P2P_RANKS];
	char *dst[GT_P2P_RANKS + 1];
	uint32_t nsrc, ndst;
	uint32_t divide;
	uint64_t count; /* elements */
};

/* Thread number `self` of `all` threads that work on one thing together. */
struct gt_thread_group {
	uint64_t self, all;
};

struct gt_block_reduce_cuts {
	uint64_t head, packs;
};

template <class T>
static __device__ __forceinline__ struct gt_block_reduce_cuts
gt_block_reduce_cuts_of(const struct gt_block_reduce *reduction, uint64_t count)
{
	uint64_t first = (uint64_t)reduction->src[0], differ = 0;
	struct gt_block_reduce_cuts cuts;

	for (uint32_t i = 1; i < reduction->nsrc; i++)
		differ |= ((uint64_t)reduction->src[i] ^ first) & 15;
	for (uint32_t i = 0; i < reduction->ndst; i++)
		differ |= ((uint64_t)reduction->dst[i] ^ first) & 15;
	cuts.head = (-first & 15) / sizeof(T);
	if (differ || cuts.head > count)
		cuts.head = count;
	cuts.packs = (count - cuts.head) / (16 / sizeof(T));
	return cuts;
}

template <class T, class R>
static __device__ __forceinline__ T
gt_block_reduce_total(const struct gt_block_reduce *reduction, uint64_t i)
{
	typedef typename gt_held<T, R>::type held;
	held total = (held)((const T *)reduction->src[0])[i];

	for (uint32_t s = 1; s < reduction->nsrc; s++)
		total = R::one(total, (held)((const T *)reduction->src[s])[i]);
	if (reduction->divide)
		total = gt_divide<held>(total, reduction->divide);
	return (T)total;
}

template <class T, class R>
static __device__ __forceinline__ void gt_block_reduce_element(
	const struct gt_block_reduce *reduction, uint64_t i)
{
	T v = ((const T *)reduction->src[0])[i];

	if constexpr (gt_adds<R>::ANY)
		if (reduction->nsrc > 1 || reduction->divide)
			v = gt_block_reduce_total<T, R>(reduction, i);
	for (uint32_t d = 0; d < reduction->ndst; d++)
		((T *)reduction->dst[d])[i] = v;
}

/* Reduces the elements before the first pack and behind the last one. */
template <class T, class R>
static __device__ __noinline__ void gt_block_reduce_ends(
	const struct gt_block_reduce *reduction, struct gt_range part,
	struct gt_block_reduce_cuts cuts, struct gt_thread_group group)
{
	uint64_t i = cuts.head + cuts.packs * (16 / sizeof(T)) + group.self;

	for (; i < part.count; i += group.all)
		gt_block_reduce_element<T, R>(reduction, part.offset + i);
	for (i = group.self; i < cuts.head; i += group.all)
		gt_block_reduce_element<T, R>(reduction, part.offset + i);
}

/* Loads packs of up to three sources, from s0 on. */
template <int U>
static __device__ __forceinline__ void gt_block_reduce_load(
	const struct gt_block_reduce *reduction, uint32_t s0, uint64_t at,
	uint4 w[GT_BLOCK_REDUCE_MORE][U])
{
#pragma unroll
	for (int s = 0; s < GT_BLOCK_REDUCE_MORE; s++)
#pragma unroll
		for (int u = 0; u < U; u++)
			if (s0 + s < reduction->nsrc)
				w[s][u] = gt_pack_load(reduction->src[s0 + s] +
						       at + u * 512);
}

/*
 * Adds all other sources onto the packs of the first, which v holds.  These are
 * touched when loads of the next are on their way.
 */
template <class T, class R, int U>
static __device__ __forceinline__ void gt_block_reduce_add(
	const struct gt_block_reduce *reduction, uint64_t at, uint4 v[U])
{
	uint4 w[GT_BLOCK_REDUCE_MORE][U];
	gt_total<T, R> totals[U];

	for (uint32_t s0 = 1; s0 == 1 || s0 < reduction->nsrc;
	     s0 += GT_BLOCK_REDUCE_MORE) {
		gt_block_reduce_load<U>(reduction, s0, at, w);
#pragma unroll
		for (int u = 0; u < U && s0 == 1; u++) {
			totals[u].clear();
			totals[u].add(v[u], true);
		}
#pragma unroll
		for (int s = 0; s < GT_BLOCK_REDUCE_MORE; s++)
#pragma unroll
			for (int u = 0; u < U; u++)
				if (s0 + s < reduction->nsrc)
					totals[u].add(w[s][u], false);
	}
#pragma unroll
	for (int u = 0; u < U; u++)
		v[u] = totals[u].end(reduction->divide);
}

/* The sum of two is rounded once, as packs as well. */
template <class T, class R, int U>
static __device__ __forceinline__ void gt_block_reduce_pair(
	const struct gt_block_reduce *reduction, uint64_t at, uint4 v[U])
{
	uint4 w[U];

#pragma unroll
	for (int u = 0; u < U; u++)
		w[u] = gt_pack_load(reduction->src[1] + at + u * 512);
#pragma unroll
	for (int u = 0; u < U; u++)
		v[u] = gt_combine<T, R>::packs(v[u], w[u]);
}

/*
 * Reduces U packs from byte `at` on, which are 32 packs apart; of slim ones
 * there are no more sources than two.
 */
template <class T, class R, int U, bool SLIM = false>
static __device__ __forceinline__ void gt_block_reduce_packs(
	const struct gt_block_reduce *reduction, uint64_t at)
{
	uint4 v[U];

#pragma unroll
	for (int u = 0; u < U; u++)
		v[u] = gt_pack_load(reduction->src[0] + at + u * 512);
	if constexpr (gt_adds<R>::ANY) {
		if (reduction->nsrc == 2 && !reduction->divide)
			gt_block_reduce_pair<T, R, U>(reduction, at, v);
		else if constexpr (!SLIM)
			if (reduction->nsrc > 1 || reduction->divide)
				gt_block_reduce_add<T, R, U>(reduction, at, v);
	}
	for (uint32_t d = 0; d < reduction->ndst; d++)
#pragma unroll
		for (int u = 0; u < U; u++)
			gt_pack_store(reduction->dst[d] + at + u * 512, v[u]);
}

/* Is it a copy, or the sum of two, which few registers hold? */
template <class R>
static __device__ __forceinline__ bool gt_block_reduce_is_slim(
	const struct gt_block_reduce *reduction)
{
	return !gt_adds<R>::ANY || reduction->nsrc == 1 ||
	       (reduction->nsrc == 2 && !reduction->divide);
}

/*
 * Reduces the elements `part` of the block; whole warps call it. A part that
 * begins a whole number of packs after the block's begin is aligned as the
 * block is.
 */
template <class T, class R, int U = GT_BLOCK_REDUCE_UNROLL>
static __device__ void gt_block_reduce_part(
	const struct gt_block_reduce *reduction, struct gt_range part,
	struct gt_thread_group group)
{
	const uint64_t hunk = 32 * U, wide = 32 * GT_BLOCK_REDUCE_WIDE;
	struct gt_block_reduce_cuts cuts =
		gt_block_reduce_cuts_of<T>(reduction, part.count);
	uint64_t skip = (part.offset + cuts.head) * sizeof(T);
	uint64_t warps = group.all / 32, done = 0, i;

	if (group.all <= GT_BLOCK_REDUCE_FEW_THREADS &&
	    gt_block_reduce_is_slim<R>(reduction))
		done = cuts.packs / (warps * wide) * (warps * wide);
	for (i = group.self / 32 * wide; i < done; i += warps * wide)
		gt_block_reduce_packs<T, R, GT_BLOCK_REDUCE_WIDE, true>(
			reduction, skip + (i + group.self % 32) * 16);
	for (i = done + group.self / 32 * hunk; i + hunk <= cuts.packs;
	     i += warps * hunk)
		gt_block_reduce_packs<T, R, U>(
			reduction, skip + (i + group.self % 32) * 16);
	i = done + (cuts.packs - done) / hunk * hunk + group.self;
	for (; i < cuts.packs; i += group.all)
		gt_block_reduce_packs<T, R, 1>(reduction, skip + i * 16);
	if (cuts.head + cuts.packs * (16 / sizeof(T)) < part.count || cuts.head)
		gt_block_reduce_ends<T, R>(reduction, part, cuts, group);
}

template <class T, class R>
static __device__ void gt_block_reduce_run(
	const struct gt_block_reduce *reduction, struct gt_thread_group group)
{
	gt_block_reduce_part<T, R>(reduction, {0, reduction->count}, group);
}

#endif
