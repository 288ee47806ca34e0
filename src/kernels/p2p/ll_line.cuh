/*
 * This lays out a chunk of packets, and the fragment of it that a lane takes.
 *
 * A chunk is 1 KiB of an LL buffer, two slots of 16 bytes a lane; packet.cuh
 * says what its flags are for. Protocols differ in what a chunk holds. LL: 512
 * bytes of data with a flag of 4 behind every 4, which needs stores of 8 bytes
 * to be atomic, as they are everywhere. LL128: 960 bytes with a flag of 8 in
 * every 128, which needs a warp's store of 128 bytes to be atomic, as over
 * NVLink.
 */
#ifndef GT_KERNELS_P2P_LL_LINE_CUH
#define GT_KERNELS_P2P_LL_LINE_CUH

#include "kernels/kernels.h"
#include "kernels/device/flag.cuh"
#include "kernels/device/move.cuh"
#include "kernels/device/reduce.cuh"

enum : uint32_t {
	GT_CHUNK_BYTES = 1024,
	GT_SLOT_B = 512,   /* from a lane's first slot to its second */
	GT_POLL_RANKS = 4, /* whose slots are in flight together */
};

/* A fragment is what a lane takes of a chunk. */
struct gt_fragment {
	uint4 pack[2];
};
struct gt_slot_pair {
	uint4 a, b;
};

/* This is where a warp is in a flow; it is the same in all its lanes. */
struct gt_ll_context {
	const struct gt_kernel_guard *guard;
	const struct gt_packet_part *part;
	char *const *ll_buffer; /* of each rank */
	uint32_t lane, warp, warps;
	uint32_t flag;
};

struct gt_ll {
	enum : uint32_t { PACKS = 32 }; /* of 16 bytes, in a chunk */

	/*
	 * Returns the lane's k-th pack as a number within the chunk, or PACKS
	 * if it has none.
	 */
	static __device__ __forceinline__ uint32_t pack(uint32_t lane,
							uint32_t k)
	{
		return k ? PACKS : lane;
	}

	static __device__ __forceinline__ struct gt_slot_pair wrap(
		struct gt_fragment fragment, uint32_t lane, uint32_t flag)
	{
		uint4 v = fragment.pack[0];

		return {{v.x, flag, v.y, flag}, {v.z, flag, v.w, flag}};
	}

	static __device__ __forceinline__ bool here(struct gt_slot_pair s,
						    uint32_t lane,
						    uint32_t flag)
	{
		return s.a.y == flag && s.a.w == flag && s.b.y == flag &&
		       s.b.w == flag;
	}

	static __device__ __forceinline__ struct gt_fragment unwrap(
		struct gt_slot_pair s, uint32_t lane)
	{
		return {{{s.a.x, s.a.z, s.b.x, s.b.z}, {0, 0, 0, 0}}};
	}
};

/*
 * Eight lanes make two lines of 128 bytes; the last lane splits its only pack
 * between them.
 */
struct gt_ll128 {
	enum : uint32_t { PACKS = 60 };

	static __device__ __forceinline__ uint32_t pack(uint32_t lane,
							uint32_t k)
	{
		return k && lane % 8 == 7 ? PACKS
					  : lane / 8 * 15 + k * 8 + lane % 8;
	}

	static __device__ __forceinline__ struct gt_slot_pair wrap(
		struct gt_fragment fragment, uint32_t lane, uint32_t flag)
	{
		uint4 v = fragment.pack[0];

		if (lane % 8 != 7)
			return {v, fragment.pack[1]};
		return {{v.x, v.y, flag, flag}, {v.z, v.w, flag, flag}};
	}

	static __device__ __forceinline__ bool here(struct gt_slot_pair s,
						    uint32_t lane,
						    uint32_t flag)
	{
		return lane % 8 != 7 || (s.a.z == flag && s.a.w == flag &&
					 s.b.z == flag && s.b.w == flag);
	}

	static __device__ __forceinline__ struct gt_fragment unwrap(
		struct gt_slot_pair s, uint32_t lane)
	{
		if (lane % 8 != 7)
			return {{s.a, s.b}};
		return {{{s.a.x, s.a.y, s.b.x, s.b.y}, {0, 0, 0, 0}}};
	}
};

/*
 * Whatever goes as packets fits in an LL buffer, so 32 bits count its elements.
 */
template <class T, class P>
static __device__ __forceinline__ uint32_t gt_chunks(uint32_t count)
{
	const uint32_t per = P::PACKS * (16 / sizeof(T));

	return count ? (count + per - 1) / per : 1;
}

/*
 * Pack number i of a block of count elements, one by one; beyond its end,
 * nothing.  Called, as it is rare: inlined wherever a pack is touched it
 * would be most of a kernel, and spill.
 */
template <class T>
static __device__ __noinline__ uint4 gt_ends_get(const char *block, uint32_t i,
						 uint32_t count)
{
	const uint32_t per = 16 / sizeof(T);
	gt_pack<T> v;

	v.bits = make_uint4(0, 0, 0, 0);
	for (uint32_t e = 0; e < per; e++)
		if (i * per + e < count)
			v.at[e] = ((const T *)block)[i * per + e];
	return v.bits;
}

template <class T>
static __device__ __noinline__ void gt_ends_put(char *block, uint32_t i,
						uint32_t count, uint4 bits)
{
	const uint32_t per = 16 / sizeof(T);
	gt_pack<T> v;

	v.bits = bits;
	for (uint32_t e = 0; e < per; e++)
		if (i * per + e < count)
			((T *)block)[i * per + e] = v.at[e];
}

/* Returns whether pack number i is complete and aligned. */
template <class T>
static __device__ __forceinline__ bool gt_pack_is_whole(const char *block,
							uint32_t i,
							uint32_t count)
{
	return (i + 1) * (16 / sizeof(T)) <= count && !((uint64_t)block & 15);
}

template <class T>
static __device__ __forceinline__ uint4 gt_pack_get(const char *block,
						    uint32_t i, uint32_t count)
{
	if (gt_pack_is_whole<T>(block, i, count))
		return gt_pack_load(block + (uint64_t)i * 16);
	return gt_ends_get<T>(block, i, count);
}

template <class T>
static __device__ __forceinline__ void gt_pack_put(char *block, uint32_t i,
						   uint32_t count, uint4 bits)
{
	if (gt_pack_is_whole<T>(block, i, count))
		gt_pack_store(block + (uint64_t)i * 16, bits);
	else
		gt_ends_put<T>(block, i, count, bits);
}

template <class T, class P>
static __device__ __forceinline__ struct gt_fragment gt_fragment_load(
	const char *block, uint32_t chunk, uint32_t count, uint32_t lane)
{
	struct gt_fragment fragment;

#pragma unroll
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t i = P::pack(lane, k);

		fragment.pack[k] = make_uint4(0, 0, 0, 0);
		if (i < P::PACKS)
			fragment.pack[k] = gt_pack_get<T>(
				block, chunk * P::PACKS + i, count);
	}
	return fragment;
}

template <class T, class P>
static __device__ __forceinline__ void gt_fragment_store(
	char *block, uint32_t chunk, uint32_t count, uint32_t lane,
	struct gt_fragment fragment)
{
#pragma unroll
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t i = P::pack(lane, k);

		if (i < P::PACKS)
			gt_pack_put<T>(block, chunk * P::PACKS + i, count,
				       fragment.pack[k]);
	}
}

/*
 * Returns where the chunks that rank s writes for rank d lie: part 0, then part
 * 1.
 */
static __device__ __forceinline__ char *gt_ll_buffer(
	const struct gt_ll_context *at, uint32_t d, uint32_t s, uint32_t part)
{
	const struct gt_packet_part *mine = at->part;
	uint64_t box = (at->flag & 1) * mine->flow.nranks + s;

	return at->ll_buffer[d] + box * mine->box_bytes + mine->ll_buffer_at +
	       part * mine->part_bytes + at->lane * 16;
}

template <class P>
static __device__ __forceinline__ void gt_fragment_send(
	const struct gt_ll_context *at, uint32_t d, uint32_t part,
	uint32_t chunk, struct gt_fragment fragment)
{
	char *to = gt_ll_buffer(at, d, at->part->flow.me, part) +
		   (uint64_t)chunk * GT_CHUNK_BYTES;
	struct gt_slot_pair s = P::wrap(fragment, at->lane, at->flag);

	gt_slot_store(to, s.a);
	gt_slot_store(to + GT_SLOT_B, s.b);
}

#endif
