/*
 * The 8-bit floats as types with arithmetic, which CUDA's own lack: computed as
 * floats, rounded to nearest even, to the largest where that is too large.
 *
 * Pairs go through halves, which hold every fp8: a sum or product that is
 * rounded to a half first has the same bits in the end, for all 256 x 256
 * operands (tests/unit/kernels/test_fp8.c).
 */
#ifndef GT_KERNELS_DEVICE_FP8_CUH
#define GT_KERNELS_DEVICE_FP8_CUH

#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <__nv_fp8_interpretation_t E> struct gt_fp8 {
	__nv_fp8_storage_t bits;

	gt_fp8() = default;
	__device__ __forceinline__ gt_fp8(float value)
	    : bits(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, E))
	{
	}
	__device__ __forceinline__ operator float() const
	{
		return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, E)));
	}
};

template <__nv_fp8_interpretation_t E> struct gt_fp8x2 {
	__nv_fp8x2_storage_t bits;

	gt_fp8x2() = default;
	__device__ __forceinline__ explicit gt_fp8x2(__half2 halves)
	    : bits(__nv_cvt_halfraw2_to_fp8x2((__half2_raw)halves,
					      __NV_SATFINITE, E))
	{
	}
	__device__ __forceinline__ __half2 halves() const
	{
		return __half2(__nv_cvt_fp8x2_to_halfraw2(bits, E));
	}
};

#endif
