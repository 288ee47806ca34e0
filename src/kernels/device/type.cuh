/*
 * The element types of base/dtype.def as types with arithmetic.
 *
 * -DGT_TYPE=<NAME> says for which of them a source is compiled; GT_C_TYPE is
 * that type and GT_FOR_TYPE(x) the symbol x_<NAME>.
 */
#ifndef GT_KERNELS_DEVICE_TYPE_CUH
#define GT_KERNELS_DEVICE_TYPE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

/*
 * CUDA's own 8-bit floats have no arithmetic.  It is computed in floats and
 * rounded to nearest even, to the largest where that is too large.
 *
 * Pairs go through halves, which hold every fp8: a sum or product that is
 * rounded to a half first has the same bits in the end, for all 256 x 256
 * operands (tests/unit/kernels/test_fp8.c).
 */
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

#define GT_C_TYPE_INT8     int8_t
#define GT_C_TYPE_UINT8    uint8_t
#define GT_C_TYPE_INT32    int32_t
#define GT_C_TYPE_UINT32   uint32_t
#define GT_C_TYPE_INT64    int64_t
#define GT_C_TYPE_UINT64   uint64_t
#define GT_C_TYPE_HALF     __half
#define GT_C_TYPE_BF16     __nv_bfloat16
#define GT_C_TYPE_FLOAT    float
#define GT_C_TYPE_DOUBLE   double
#define GT_C_TYPE_FP8_E4M3 gt_fp8<__NV_E4M3>
#define GT_C_TYPE_FP8_E5M2 gt_fp8<__NV_E5M2>

#define GT_PASTE_(a, b)     a##b
#define GT_PASTE(a, b)      GT_PASTE_(a, b)
#define GT_C_TYPE           GT_PASTE(GT_C_TYPE_, GT_TYPE)
#define GT_FOR_TYPE(symbol) GT_PASTE(symbol##_, GT_TYPE)

#endif
