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

template <class T>
static __device__ __forceinline__ uint4 gt_packs_by(uint4 a, uint4 b,
						    uint32_t op)
{
	switch (op) {
	case GT_REDOP_PROD:
		return gt_combine<T, gt_prod<T>>::packs(a, b);
	case GT_REDOP_MIN:
		return gt_combine<T, gt_min<T>>::packs(a, b);
	case GT_REDOP_MAX:
		return gt_combine<T, gt_max<T>>::packs(a, b);
	default:
		return gt_combine<T, gt_sum<T>>::packs(a, b);
	}
}

static __device__ __noinline__ uint4 gt_any_combine(uint4 a, uint4 b,
						    uint32_t dtype, uint32_t op)
{
	switch (dtype) {
#define GT_DTYPE(NAME, name, bytes)                                            \
	case GT_DTYPE_##NAME:                                                  \
		return gt_packs_by<GT_C_TYPE_##NAME>(a, b, op);
#include "base/dtype.def"
	}
	return a;
}

static __device__ __noinline__ uint4 gt_any_divide(uint4 v, uint32_t dtype,
						   uint32_t n)
{
	switch (dtype) {
#define GT_DTYPE(NAME, name, bytes)                                            \
	case GT_DTYPE_##NAME:                                                  \
		return gt_pack_divide<GT_C_TYPE_##NAME>(v, n);
#include "base/dtype.def"
	}
	return v;
}

template <> struct gt_maker<gt_byte, gt_any> {
	static __device__ __forceinline__ uint4
	combine(const struct gt_ll_context *at, uint4 a, uint4 b)
	{
		return gt_any_combine(a, b, at->part->dtype, at->part->op);
	}

	static __device__ __forceinline__ uint4
	divide(const struct gt_ll_context *at, uint4 v)
	{
		return gt_any_divide(v, at->part->dtype, at->part->flow.divide);
	}
};

const void *const gt_group_kernel =
	(const void *)gt_packet_group<gt_byte, gt_any>;
