/*
 * -DGT_TYPE=<NAME of base/dtype.def> says for which element type a source is
 * compiled; GT_C_TYPE is that type and GT_FOR_TYPE(x) the symbol x_<NAME>.
 */
#ifndef GT_KERNELS_DEVICE_TYPE_CUH
#define GT_KERNELS_DEVICE_TYPE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "kernels/device/fp8.cuh"

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
