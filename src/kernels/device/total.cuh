/*
 * Totals: what holds any number of packs while they are combined.  Sums of what
 * is narrower than a float are held in floats, divided there for avg, and
 * rounded once, at the end.
 */
#ifndef GT_KERNELS_DEVICE_TOTAL_CUH
#define GT_KERNELS_DEVICE_TOTAL_CUH

#include "kernels/device/reduce.cuh"

static __device__ __forceinline__ float2 gt_pair_to_floats(__half2 pair)
{
	return __half22float2(pair);
}

static __device__ __forceinline__ float2 gt_pair_to_floats(__nv_bfloat162 pair)
{
	return __bfloat1622float2(pair);
}

template <__nv_fp8_interpretation_t E>
static __device__ __forceinline__ float2 gt_pair_to_floats(gt_fp8x2<E> pair)
{
	return __half22float2(pair.halves());
}

static __device__ __forceinline__ void gt_pair_from_floats(float2 pair,
							   __half2 *to)
{
	*to = __float22half2_rn(pair);
}

static __device__ __forceinline__ void gt_pair_from_floats(float2 pair,
							   __nv_bfloat162 *to)
{
	*to = __float22bfloat162_rn(pair);
}

template <__nv_fp8_interpretation_t E>
static __device__ __forceinline__ void gt_pair_from_floats(float2 pair,
							   gt_fp8x2<E> *to)
{
	to->bits = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, E);
}

/* Stands for no operator, where each destination has one source. */
template <class T> struct gt_copies {
};
template <class R> struct gt_adds {
	enum { ANY = 1 };
};
template <class T> struct gt_adds<gt_copies<T>> {
	enum { ANY = 0 };
};

/*
 * The type that holds a total of elements of T by R: sums of what is narrower
 * than a float are floats.
 */
template <class T, class R> struct gt_held {
	typedef T type;
	enum { WIDER = 0 };
};

struct gt_held_in_floats {
	typedef float type;
	enum { WIDER = 1 };
};
template <> struct gt_held<__half, gt_sum<__half>> : gt_held_in_floats {
};
template <>
struct gt_held<__nv_bfloat16, gt_sum<__nv_bfloat16>> : gt_held_in_floats {
};
template <__nv_fp8_interpretation_t E>
struct gt_held<gt_fp8<E>, gt_sum<gt_fp8<E>>> : gt_held_in_floats {
};

/*
 * A total of packs, of which add() is told the first; n of end() divides it,
 * unless it is 0.
 */
template <class T, class R, int WIDER = gt_held<T, R>::WIDER> struct gt_total {
	uint4 bits;

	__device__ __forceinline__ void clear()
	{
		bits = make_uint4(0, 0, 0, 0);
	}
	__device__ __forceinline__ void add(uint4 pack, bool first)
	{
		bits = first ? pack : gt_combine<T, R>::packs(bits, pack);
	}
	__device__ __forceinline__ uint4 end(uint32_t n)
	{
		return n ? gt_pack_divide<T>(bits, n) : bits;
	}
};

/* Nothing is a negative zero, to which any number may be added. */
template <class T, class R> struct gt_total<T, R, 1> {
	typedef typename gt_two<T>::type two;
	enum { PAIRS = 16 / sizeof(two) };
	float2 pairs[PAIRS];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int i = 0; i < PAIRS; i++)
			pairs[i] = make_float2(-0.0f, -0.0f);
	}
	__device__ __forceinline__ void add(uint4 pack, bool)
	{
		gt_pack<two> v;

		v.bits = pack;
#pragma unroll
		for (int i = 0; i < PAIRS; i++) {
			float2 more = gt_pair_to_floats(v.at[i]);

			pairs[i].x += more.x;
			pairs[i].y += more.y;
		}
	}
	__device__ __forceinline__ uint4 end(uint32_t n)
	{
		gt_pack<two> v;

#pragma unroll
		for (int i = 0; i < PAIRS; i++) {
			if (n) {
				pairs[i].x /= (float)n;
				pairs[i].y /= (float)n;
			}
			gt_pair_from_floats(pairs[i], &v.at[i]);
		}
		return v.bits;
	}
};

#endif
