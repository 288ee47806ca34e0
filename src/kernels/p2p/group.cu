/*
 * The kernel for groups of operations of several types, or with operators other
 * than sum and avg.  Sizes are in bytes, and a number says what to do with 16
 * of them.  That costs a call a pack, in all 1.3 us (4 all-reduces of 1 KiB
 * among 4 H200: 5.2 against 3.9), and saves a launch for each type and operator
 * that meet in a group.
 */
#include "kernels/device/type.cuh"
#include "kernels/p2p/group.cuh"
#include "kernels/p2p/ll_line.cuh"
#include "kernels/table.h"

struct gt_byte {
	uint8_t byte;
};

struct gt_any;

/*
 * Uses the largest elements that divide both the block's address and its
 * length.
 */
template <>
__device__ __noinline__ uint4 gt_ends_get<gt_byte>(const char *block,
						   uint32_t i, uint32_t count)
{
	uint32_t both = (uint32_t)(uint64_t)block | count;

	if (!(both & 7))
		return gt_ends_get<uint64_t>(block, i, count / 8);
	if (!(both & 3))
		return gt_ends_get<uint32_t>(block, i, count / 4);
	if (!(both & 1))
		return gt_ends_get<uint16_t>(block, i, count / 2);
	return gt_ends_get<uint8_t>(block, i, count);
}

template <>
__device__ __noinline__ void gt_ends_put<gt_byte>(char *block, uint32_t i,
						  uint32_t count, uint4 bits)
{
	uint32_t both = (uint32_t)(uint64_t)block | count;

	if (!(both & 7))
		gt_ends_put<uint64_t>(block, i, count / 8, bits);
	else if (!(both & 3))
		gt_ends_put<uint32_t>(block, i, count / 4, bits);
	else if (!(both & 1))
		gt_ends_put<uint16_t>(block, i, count / 2, bits);
	else
		gt_ends_put<uint8_t>(block, i, count, bits);
}

/* Room for a total of any type, in a thread's own memory. */
struct alignas(16) gt_any_total {
	char bytes[sizeof(float) * 16];
};

template <class T, class R>
static __device__ __forceinline__ void gt_total_add(gt_any_total *to,
						    uint4 pack, bool first)
{
	gt_total<T, R> *total = (gt_total<T, R> *)to->bytes;

	static_assert(sizeof(*total) <= sizeof(to->bytes), "fits");
	if (first)
		total->clear();
	total->add(pack, first);
}

template <class T>
static __device__ __forceinline__ void gt_total_add_by(gt_any_total *to,
						       uint4 pack, bool first,
						       uint32_t op)
{
	switch (op) {
	case GT_REDOP_PROD:
		gt_total_add<T, gt_prod<T>>(to, pack, first);
		break;
	case GT_REDOP_MIN:
		gt_total_add<T, gt_min<T>>(to, pack, first);
		break;
	case GT_REDOP_MAX:
		gt_total_add<T, gt_max<T>>(to, pack, first);
		break;
	default:
		gt_total_add<T, gt_sum<T>>(to, pack, first);
	}
}

static __device__ __noinline__ void gt_any_add(
	gt_any_total *to, uint4 pack, bool first,
	const struct gt_packet_part *part)
{
	switch (part->dtype) {
#define GT_DTYPE(NAME, name, bytes)                                            \
	case GT_DTYPE_##NAME:                                                  \
		gt_total_add_by<GT_C_TYPE_##NAME>(to, pack, first, part->op);  \
		break;
#include "base/dtype.def"
	}
}

/* Only sums are held and divided otherwise than as packs. */
template <class T>
static __device__ __forceinline__ uint4 gt_total_end(gt_any_total *total,
						     uint32_t op, uint32_t n)
{
	if (op == GT_REDOP_PROD || op == GT_REDOP_MIN || op == GT_REDOP_MAX)
		return *(const uint4 *)total->bytes;
	return ((gt_total<T, gt_sum<T>> *)total->bytes)->end(n);
}

static __device__ __noinline__ uint4
gt_any_end(gt_any_total *total, const struct gt_packet_part *part)
{
	switch (part->dtype) {
#define GT_DTYPE(NAME, name, bytes)                                            \
	case GT_DTYPE_##NAME:                                                  \
		return gt_total_end<GT_C_TYPE_##NAME>(total, part->op,         \
						      part->flow.divide);
#include "base/dtype.def"
	}
	return *(const uint4 *)total->bytes;
}

template <> struct gt_pack_total<gt_byte, gt_any> {
	enum { WIDER = 1 };
	gt_any_total total;

	__device__ __forceinline__ void clear()
	{
	}
	__device__ __forceinline__ void add(const struct gt_ll_context *at,
					    uint4 pack, bool first)
	{
		gt_any_add(&total, pack, first, at->part);
	}
	__device__ __forceinline__ uint4 end(const struct gt_ll_context *at)
	{
		return gt_any_end(&total, at->part);
	}
};

template <> struct gt_maker<gt_byte, gt_any> {
	static __device__ __forceinline__ uint4
	combine(const struct gt_ll_context *at, uint4 a, uint4 b)
	{
		gt_any_total total;

		gt_any_add(&total, a, true, at->part);
		gt_any_add(&total, b, false, at->part);
		return gt_any_end(&total, at->part);
	}
	static __device__ __forceinline__ uint4
	divide(const struct gt_ll_context *, uint4 v)
	{
		return v;
	}
};

const void *const gt_group_kernel =
	(const void *)gt_packet_group<gt_byte, gt_any>;
