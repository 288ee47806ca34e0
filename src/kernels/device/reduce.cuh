/*
 * The element types and what the operators do to a pack of 16 bytes.
 *
 * Two packs of half and bf16 are combined two elements at a time in their own
 * precision: one rounding per operator, the same bits as computing in float and
 * rounding. fp8 is combined as two halves and rounded from there, likewise the
 * same bits.  Sums of any number of packs are totals (total.cuh).
 * Integers wrap.  avg is a sum whose last step divides.
 */
#ifndef GT_KERNELS_DEVICE_REDUCE_CUH
#define GT_KERNELS_DEVICE_REDUCE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "kernels/device/type.cuh"

template <class T> union gt_pack {
	uint4 bits;
	T at[16 / sizeof(T)];
};

/* Each operator on one element of T, or what holds a total of such. */
template <class T> struct gt_sum {
	template <class V> static __device__ __forceinline__ V one(V a, V b)
	{
		return a + b;
	}
};

template <class T> struct gt_prod {
	template <class V> static __device__ __forceinline__ V one(V a, V b)
	{
		return a * b;
	}
};

template <class T> struct gt_min {
	template <class V> static __device__ __forceinline__ V one(V a, V b)
	{
		return b < a ? b : a;
	}
};

template <class T> struct gt_max {
	template <class V> static __device__ __forceinline__ V one(V a, V b)
	{
		return a < b ? b : a;
	}
};

/*
 * Each operator on two elements of 16 or 8 bits at once, where the GPU can do
 * so.
 */
#define GT_PAIRED(R, two)                                                      \
	static __device__ __forceinline__ __half2 pair(__half2 a, __half2 b)   \
	{                                                                      \
		return two(a, b);                                              \
	}                                                                      \
	static __device__ __forceinline__ __nv_bfloat162 pair(                 \
		__nv_bfloat162 a, __nv_bfloat162 b)                            \
	{                                                                      \
		return two(a, b);                                              \
	}                                                                      \
	template <__nv_fp8_interpretation_t E>                                 \
	static __device__ __forceinline__ gt_fp8x2<E> pair(gt_fp8x2<E> a,      \
							   gt_fp8x2<E> b)      \
	{                                                                      \
		return gt_fp8x2<E>(two(a.halves(), b.halves()));               \
	}

template <class R> struct gt_paired;
template <class T> struct gt_paired<gt_sum<T>> {
	GT_PAIRED(gt_sum<T>, __hadd2)
};
template <class T> struct gt_paired<gt_prod<T>> {
	GT_PAIRED(gt_prod<T>, __hmul2)
};
template <class T> struct gt_paired<gt_min<T>> {
	GT_PAIRED(gt_min<T>, __hmin2)
};
template <class T> struct gt_paired<gt_max<T>> {
	GT_PAIRED(gt_max<T>, __hmax2)
};

template <class T> struct gt_two {
	typedef void type;
};
template <> struct gt_two<__half> {
	typedef __half2 type;
};
template <> struct gt_two<__nv_bfloat16> {
	typedef __nv_bfloat162 type;
};
template <__nv_fp8_interpretation_t E> struct gt_two<gt_fp8<E>> {
	typedef gt_fp8x2<E> type;
};

/* Combines two packs of 16 bytes, elements of T, by the operator R. */
template <class T, class R, class P = typename gt_two<T>::type>
struct gt_combine {
	static __device__ __forceinline__ uint4 packs(uint4 a, uint4 b)
	{
		gt_pack<P> x, y;

		x.bits = a;
		y.bits = b;
#pragma unroll
		for (int i = 0; i < (int)(16 / sizeof(P)); i++)
			x.at[i] = gt_paired<R>::pair(x.at[i], y.at[i]);
		return x.bits;
	}
};

template <class T, class R> struct gt_combine<T, R, void> {
	static __device__ __forceinline__ uint4 packs(uint4 a, uint4 b)
	{
		gt_pack<T> x, y;

		x.bits = a;
		y.bits = b;
#pragma unroll
		for (int i = 0; i < (int)(16 / sizeof(T)); i++)
			x.at[i] = R::one(x.at[i], y.at[i]);
		return x.bits;
	}
};

/* Divides each element of a pack, which is the last step of avg. */
template <class T>
static __device__ __forceinline__ T gt_divide(T a, uint32_t n)
{
	return a / (T)n;
}

template <>
__device__ __forceinline__ int8_t gt_divide<int8_t>(int8_t a, uint32_t n)
{
	return (int8_t)((int)a / (int)n);
}

template <>
__device__ __forceinline__ uint8_t gt_divide<uint8_t>(uint8_t a, uint32_t n)
{
	return (uint8_t)(a / n);
}

template <>
__device__ __forceinline__ __half gt_divide<__half>(__half a, uint32_t n)
{
	return __float2half_rn(__half2float(a) / (float)n);
}

template <>
__device__ __forceinline__ __nv_bfloat16
gt_divide<__nv_bfloat16>(__nv_bfloat16 a, uint32_t n)
{
	return __float2bfloat16_rn(__bfloat162float(a) / (float)n);
}

template <>
__device__ __forceinline__ gt_fp8<__NV_E4M3> gt_divide<gt_fp8<__NV_E4M3>>(
	gt_fp8<__NV_E4M3> a, uint32_t n)
{
	return (float)a / (float)n;
}

template <>
__device__ __forceinline__ gt_fp8<__NV_E5M2> gt_divide<gt_fp8<__NV_E5M2>>(
	gt_fp8<__NV_E5M2> a, uint32_t n)
{
	return (float)a / (float)n;
}

template <class T>
static __device__ __forceinline__ uint4 gt_pack_divide(uint4 bits, uint32_t n)
{
	gt_pack<T> v;

	v.bits = bits;
#pragma unroll
	for (int i = 0; i < (int)(16 / sizeof(T)); i++)
		v.at[i] = gt_divide<T>(v.at[i], n);
	return v.bits;
}

#endif
