/*
 * How fragments of several ranks become one: as packs of their type, or as
 * totals that may be wider.
 */
#ifndef GT_KERNELS_P2P_FRAGMENT_SUM_CUH
#define GT_KERNELS_P2P_FRAGMENT_SUM_CUH

#include "kernels/p2p/ll_line.cuh"
#include "kernels/device/total.cuh"

/* The operations on packs of type T; group.cu has those on all types. */
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
static __device__ __forceinline__ void gt_fragment_combine(
	const struct gt_ll_context *at, struct gt_fragment *to,
	struct gt_fragment fragment, bool first)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		to->pack[k] = first ? fragment.pack[k]
				    : gt_maker<T, R>::combine(at, to->pack[k],
							      fragment.pack[k]);
}

template <class T, class R>
static __device__ __forceinline__ void gt_fragment_divide(
	const struct gt_ll_context *at, struct gt_fragment *fragment)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		fragment->pack[k] =
			gt_maker<T, R>::divide(at, fragment->pack[k]);
}

/* Totals of packs of type T. */
template <class T, class R> struct gt_pack_total {
	enum { WIDER = gt_held<T, R>::WIDER };
	gt_total<T, R> total;

	__device__ __forceinline__ void clear()
	{
		total.clear();
	}
	__device__ __forceinline__ void add(const struct gt_ll_context *,
					    uint4 pack, bool first)
	{
		total.add(pack, first);
	}
	__device__ __forceinline__ uint4 end(const struct gt_ll_context *at)
	{
		return total.end(at->part->flow.divide);
	}
};

template <class T, class R> struct gt_fragment_total {
	gt_pack_total<T, R> pack[2];
};

template <class T, class R>
static __device__ __forceinline__ void gt_fragment_clear(
	gt_fragment_total<T, R> *total)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		total->pack[k].clear();
}

template <class T, class R>
static __device__ __forceinline__ void gt_fragment_add(
	const struct gt_ll_context *at, gt_fragment_total<T, R> *to,
	struct gt_fragment fragment, bool first)
{
#pragma unroll
	for (int k = 0; k < 2; k++)
		to->pack[k].add(at, fragment.pack[k], first);
}

template <class T, class R>
static __device__ __forceinline__ struct gt_fragment gt_fragment_end(
	const struct gt_ll_context *at, gt_fragment_total<T, R> *total)
{
	return {{total->pack[0].end(at), total->pack[1].end(at)}};
}

#endif
