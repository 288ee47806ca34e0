/*
 * Cells: what a lane takes of a chunk of packets, and how it looks on the way.
 *
 * A chunk is 1 KiB in a mailbox, two slots of 16 bytes a lane; packet.cuh says
 * what its flags are for.  Protocols differ in what a chunk holds:
 *
 *     ll     512 bytes, a flag of 4 behind every 4: needs stores of 8 bytes
 *            that arrive whole, as everywhere
 *     ll128  960 bytes, a flag of 8 in every 128: needs a warp's store to 128
 *            bytes to arrive whole, as over NVLink
 */
#ifndef GT_KERNELS_P2P_LL_LINE_CUH
#define GT_KERNELS_P2P_LL_LINE_CUH

#include "kernels/kernels.h"
#include "kernels/device/move.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/slot.cuh"

enum : uint32_t {
	GT_CHUNK_BYTES = 1024,
	GT_SLOT_B = 512,   /* from a lane's first slot to its second */
	GT_POLL_RANKS = 4, /* whose slots are in flight together */
};

/* What a lane takes of a chunk. */
struct gt_fragment {
	uint4 pack[2];
};

struct gt_slot_pair {
	uint4 a, b;
};

/* A warp's place in a flow, the same in all its lanes. */
struct gt_ll_context {
	const struct gt_kernel_guard *guard;
	const struct gt_packet_part *part;
	char *const *mail; /* of each rank */
	uint32_t lane, warp, warps;
	uint32_t flag;
};

struct gt_ll {
	enum : uint32_t { PACKS = 32 }; /* of 16 bytes, in a chunk */

	/* The lane's k-th pack, as a number within the chunk; PACKS: none. */
	static __device__ __forceinline__ uint32_t pack(uint32_t lane,
							uint32_t k)
	{
		return k ? PACKS : lane;
	}

	static __device__ __forceinline__ struct gt_slot_pair wrap(
		struct gt_fragment cell, uint32_t lane, uint32_t flag)
	{
		uint4 v = cell.pack[0];

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

/* Eight lanes make two lines of 128 bytes; the last halves its only pack. */
struct gt_ll128 {
	enum : uint32_t { PACKS = 60 };

	static __device__ __forceinline__ uint32_t pack(uint32_t lane,
							uint32_t k)
	{
		return k && lane % 8 == 7 ? PACKS
					  : lane / 8 * 15 + k * 8 + lane % 8;
	}

	static __device__ __forceinline__ struct gt_slot_pair wrap(
		struct gt_fragment cell, uint32_t lane, uint32_t flag)
	{
		uint4 v = cell.pack[0];

		if (lane % 8 != 7)
			return {v, cell.pack[1]};
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

/* What goes as packets fits in a mailbox: 32 bits count its elements. */
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

/* Is pack number i whole, and where packs can be? */
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
	struct gt_fragment cell;

#pragma unroll
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t i = P::pack(lane, k);

		cell.pack[k] = make_uint4(0, 0, 0, 0);
		if (i < P::PACKS)
			cell.pack[k] = gt_pack_get<T>(
				block, chunk * P::PACKS + i, count);
	}
	return cell;
}

template <class T, class P>
static __device__ __forceinline__ void gt_fragment_store(
	char *block, uint32_t chunk, uint32_t count, uint32_t lane,
	struct gt_fragment cell)
{
#pragma unroll
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t i = P::pack(lane, k);

		if (i < P::PACKS)
			gt_pack_put<T>(block, chunk * P::PACKS + i, count,
				       cell.pack[k]);
	}
}

/* What is done to packs of type T; any.cuh has the one for all types. */
template <class T, class R> struct gt_maker {
	static __device__ __forceinline__ uint4
	combine(const struct gt_ll_context *, uint4 a, uint4 b)
	{
		return gt_combine<T, R>::packs(a, b);
	}

	static __device__ __forceinline__ uint4
	divide(const struct gt_ll_context *at, uint4 v)
	{
		return gt_pack_divide<T>(v, at->part->flow.divide);
	}
};

template <class T, class R>
static __device__ __forceinline__ void gt_fragment_reduce(
	const struct gt_ll_context *at, struct gt_fragment *to,
	struct gt_fragment cell, bool first)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		to->pack[k] = first ? cell.pack[k]
				    : gt_maker<T, R>::combine(at, to->pack[k],
							      cell.pack[k]);
}

template <class T, class R>
static __device__ __forceinline__ void gt_fragment_divide(
	const struct gt_ll_context *at, struct gt_fragment *cell)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		cell->pack[k] = gt_maker<T, R>::divide(at, cell->pack[k]);
}

/* Where the chunks that rank s writes for rank d lie: part 0, then part 1. */
static __device__ __forceinline__ char *gt_ll_buffer(
	const struct gt_ll_context *at, uint32_t d, uint32_t s, uint32_t part)
{
	const struct gt_packet_part *mine = at->part;
	uint64_t box = (at->flag & 1) * mine->flow.nranks + s;

	return at->mail[d] + box * mine->box_bytes + mine->mail_at +
	       part * mine->part_bytes + at->lane * 16;
}

template <class P>
static __device__ __forceinline__ void gt_fragment_send(
	const struct gt_ll_context *at, uint32_t d, uint32_t part,
	uint32_t chunk, struct gt_fragment cell)
{
	char *to = gt_ll_buffer(at, d, at->part->flow.me, part) +
		   (uint64_t)chunk * GT_CHUNK_BYTES;
	struct gt_slot_pair s = P::wrap(cell, at->lane, at->flag);

	gt_slot_store(to, s.a);
	gt_slot_store(to + GT_SLOT_B, s.b);
}

#endif
