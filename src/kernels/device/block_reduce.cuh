/*
 * Lifting a block: reduce any number of sources in their order, write any
 * number of destinations, by all threads of a launch together.  Sources and
 * destinations may lie on any GPU.
 *
 * As in move.cuh, packs of 16 bytes where all lie equally far from a 16-byte
 * boundary, U a thread and of up to four sources in flight.
 */
#ifndef GT_KERNELS_DEVICE_BLOCK_REDUCE_CUH
#define GT_KERNELS_DEVICE_BLOCK_REDUCE_CUH

#include "kernels/kernels.h"
#include "kernels/device/move.cuh"
#include "kernels/device/reduce.cuh"

#ifndef GT_BLOCK_REDUCE_UNROLL
#define GT_BLOCK_REDUCE_UNROLL 2
#endif

enum { GT_BLOCK_REDUCE_MORE = 3 }; /* sources in flight besides the first */

struct gt_block_reduce {
	const char *src[GT_P2P_RANKS];
	char *dst[GT_P2P_RANKS];
	uint32_t nsrc, ndst;
	uint32_t divide;
	uint64_t count; /* elements */
};

/* Thread `self` of `all` that do something together. */
struct gt_thread_group {
	uint64_t self, all;
};

struct gt_block_reduce_cuts {
	uint64_t head, packs;
};

template <class T>
static __device__ __forceinline__ struct gt_block_reduce_cuts
gt_block_reduce_cuts_of(const struct gt_block_reduce *lift, uint64_t count)
{
	uint64_t first = (uint64_t)lift->src[0], differ = 0;
	struct gt_block_reduce_cuts cuts;

	for (uint32_t i = 1; i < lift->nsrc; i++)
		differ |= ((uint64_t)lift->src[i] ^ first) & 15;
	for (uint32_t i = 0; i < lift->ndst; i++)
		differ |= ((uint64_t)lift->dst[i] ^ first) & 15;
	cuts.head = (-first & 15) / sizeof(T);
	if (differ || cuts.head > count)
		cuts.head = count;
	cuts.packs = (count - cuts.head) / (16 / sizeof(T));
	return cuts;
}

template <class T, class R>
static __device__ __forceinline__ void gt_block_reduce_element(
	const struct gt_block_reduce *lift, uint64_t i)
{
	T v = ((const T *)lift->src[0])[i];

	for (uint32_t s = 1; s < lift->nsrc; s++)
		v = R::one(v, ((const T *)lift->src[s])[i]);
	if (lift->divide)
		v = gt_divide<T>(v, lift->divide);
	for (uint32_t d = 0; d < lift->ndst; d++)
		((T *)lift->dst[d])[i] = v;
}

/* Elements before and behind the packs. */
template <class T, class R>
static __device__ __noinline__ void gt_block_reduce_ends(
	const struct gt_block_reduce *lift, struct gt_range part,
	struct gt_block_reduce_cuts cuts, struct gt_thread_group crew)
{
	uint64_t i = cuts.head + cuts.packs * (16 / sizeof(T)) + crew.self;

	for (; i < part.count; i += crew.all)
		gt_block_reduce_element<T, R>(lift, part.offset + i);
	for (i = crew.self; i < cuts.head; i += crew.all)
		gt_block_reduce_element<T, R>(lift, part.offset + i);
}

/* Packs of up to three more sources, from s0 on, onto v. */
template <class T, class R, int U>
static __device__ __forceinline__ void gt_block_reduce_more(
	const struct gt_block_reduce *lift, uint32_t s0, uint64_t at,
	uint4 v[U])
{
	uint4 w[GT_BLOCK_REDUCE_MORE][U];

#pragma unroll
	for (int s = 0; s < GT_BLOCK_REDUCE_MORE; s++)
#pragma unroll
		for (int u = 0; u < U; u++)
			if (s0 + s < lift->nsrc)
				w[s][u] = gt_pack_load(lift->src[s0 + s] + at +
						       u * 512);
#pragma unroll
	for (int s = 0; s < GT_BLOCK_REDUCE_MORE; s++)
#pragma unroll
		for (int u = 0; u < U; u++)
			if (s0 + s < lift->nsrc)
				v[u] = gt_combine<T, R>::packs(v[u], w[s][u]);
}

/* U packs from byte `at` on, 32 apart. */
template <class T, class R, int U>
static __device__ __forceinline__ void gt_block_reduce_packs(
	const struct gt_block_reduce *lift, uint64_t at)
{
	uint4 v[U];

#pragma unroll
	for (int u = 0; u < U; u++)
		v[u] = gt_pack_load(lift->src[0] + at + u * 512);
	for (uint32_t s0 = 1; s0 < lift->nsrc; s0 += GT_BLOCK_REDUCE_MORE)
		gt_block_reduce_more<T, R, U>(lift, s0, at, v);
#pragma unroll
	for (int u = 0; u < U; u++)
		if (lift->divide)
			v[u] = gt_pack_divide<T>(v[u], lift->divide);
	for (uint32_t d = 0; d < lift->ndst; d++)
#pragma unroll
		for (int u = 0; u < U; u++)
			gt_pack_store(lift->dst[d] + at + u * 512, v[u]);
}

/*
 * Elements of the lift; whole warps.  A part that begins whole packs after the
 * lift's begin has packs like it.
 */
template <class T, class R, int U = GT_BLOCK_REDUCE_UNROLL>
static __device__ void gt_block_reduce_part(const struct gt_block_reduce *lift,
					    struct gt_range part,
					    struct gt_thread_group crew)
{
	const uint64_t hunk = 32 * U;
	struct gt_block_reduce_cuts cuts =
		gt_block_reduce_cuts_of<T>(lift, part.count);
	uint64_t skip = (part.offset + cuts.head) * sizeof(T);
	uint64_t i = crew.self / 32 * hunk;

	for (; i + hunk <= cuts.packs; i += crew.all / 32 * hunk)
		gt_block_reduce_packs<T, R, U>(
			lift, skip + (i + crew.self % 32) * 16);
	i = cuts.packs / hunk * hunk + crew.self;
	for (; i < cuts.packs; i += crew.all)
		gt_block_reduce_packs<T, R, 1>(lift, skip + i * 16);
	if (cuts.head + cuts.packs * (16 / sizeof(T)) < part.count || cuts.head)
		gt_block_reduce_ends<T, R>(lift, part, cuts, crew);
}

template <class T, class R>
static __device__ void gt_block_reduce_run(const struct gt_block_reduce *lift,
					   struct gt_thread_group crew)
{
	gt_block_reduce_part<T, R>(lift, {0, lift->count}, crew);
}

#endif
