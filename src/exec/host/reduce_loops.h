/*
 * The loops of every type and operator, compiled once for each instruction
 * set: the file that includes this names the table in GT_REDUCE_TABLE.
 * Nothing here is vectorised by hand; the loops are what compilers vectorise.
 */
#include <stdint.h>
#include <string.h>

#include "exec/host/reduce.h"
#include "kernels/half.h"

/*
 * dst may be a or b itself, so no restrict: this says that no iteration
 * needs another one's result.
 */
#ifdef __clang__
#define GT_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GT_IVDEP _Pragma("GCC ivdep")
#endif

/* The types in which elements are held and computed in the loops below. */
#define GT_AS_IS(x)      (x)
#define GT_TO_INT8(x)    ((int8_t)(x))
#define GT_TO_UINT8(x)   ((uint8_t)(x))
#define GT_TO_INT32(x)   ((int32_t)(x))
#define GT_TO_INT64(x)   ((int64_t)(x))
#define GT_SUM(T, a, b)  ((T)(a) + (T)(b))
#define GT_PROD(T, a, b) ((T)(a) * (T)(b))
#define GT_MIN(T, a, b)  ((a) < (b) ? (a) : (b))
#define GT_MAX(T, a, b)  ((a) > (b) ? (a) : (b))

/*
 * NAME; held as T; loaded and stored by; computed in V; added and multiplied
 * in W, unsigned for integers because they wrap.
 */
#define GT_TYPES(X, OP)                                                        \
	X(INT8, int8_t, GT_AS_IS, GT_TO_INT8, int8_t, uint32_t, OP)            \
	X(UINT8, uint8_t, GT_AS_IS, GT_TO_UINT8, uint8_t, uint32_t, OP)        \
	X(INT32, int32_t, GT_AS_IS, GT_TO_INT32, int32_t, uint32_t, OP)        \
	X(UINT32, uint32_t, GT_AS_IS, GT_AS_IS, uint32_t, uint32_t, OP)        \
	X(INT64, int64_t, GT_AS_IS, GT_TO_INT64, int64_t, uint64_t, OP)        \
	X(UINT64, uint64_t, GT_AS_IS, GT_AS_IS, uint64_t, uint64_t, OP)        \
	X(HALF, uint16_t, gt_half_to_float, gt_half_from_float, float, float,  \
	  OP)                                                                  \
	X(BF16, uint16_t, gt_bf16_to_float, gt_bf16_from_float, float, float,  \
	  OP)                                                                  \
	X(FLOAT, float, GT_AS_IS, GT_AS_IS, float, float, OP)                  \
	X(DOUBLE, double, GT_AS_IS, GT_AS_IS, double, double, OP)              \
	X(FP8_E4M3, uint8_t, gt_e4m3_to_float, gt_e4m3_from_float, float,      \
	  float, OP)                                                           \
	X(FP8_E5M2, uint8_t, gt_e5m2_to_float, gt_e5m2_from_float, float,      \
	  float, OP)

#define GT_REDUCE(NAME, T, LOAD, STORE, V, W, OP)                              \
	static void gt_##OP##_##NAME(void *dst, const void *a, const void *b,  \
				     size_t n)                                 \
	{                                                                      \
		T *d = dst;                                                    \
		const T *x = a, *y = b;                                        \
                                                                               \
		GT_IVDEP for (size_t i = 0; i < n; i++)                        \
		{                                                              \
			V u = LOAD(x[i]), v = LOAD(y[i]);                      \
                                                                               \
			d[i] = STORE(GT_##OP(W, u, v));                        \
		}                                                              \
	}

GT_TYPES(GT_REDUCE, SUM)
GT_TYPES(GT_REDUCE, PROD)
GT_TYPES(GT_REDUCE, MIN)
GT_TYPES(GT_REDUCE, MAX)

/*
 * The divisor has a width that holds it and any element: int8 sums of 200 ranks
 * as well.
 */
#define GT_DIVISOR_INT8     int64_t
#define GT_DIVISOR_UINT8    int64_t
#define GT_DIVISOR_INT32    int64_t
#define GT_DIVISOR_UINT32   uint32_t
#define GT_DIVISOR_INT64    int64_t
#define GT_DIVISOR_UINT64   uint64_t
#define GT_DIVISOR_HALF     float
#define GT_DIVISOR_BF16     float
#define GT_DIVISOR_FLOAT    float
#define GT_DIVISOR_DOUBLE   double
#define GT_DIVISOR_FP8_E4M3 float
#define GT_DIVISOR_FP8_E5M2 float

#define GT_DIVIDE(NAME, T, LOAD, STORE, V, W, OP)                              \
	static void gt_##OP##_##NAME(void *dst, uint32_t divisor, size_t n)    \
	{                                                                      \
		T *d = dst;                                                    \
		GT_DIVISOR_##NAME by = (GT_DIVISOR_##NAME)divisor;             \
                                                                               \
		for (size_t i = 0; i < n; i++)                                 \
			d[i] = STORE((V)(LOAD(d[i]) / by));                    \
	}

GT_TYPES(GT_DIVIDE, DIV)

#define GT_SCALE(NAME, T, LOAD, STORE, V, W, OP)                               \
	static void gt_##OP##_##NAME(void *dst, const void *a, const void *by, \
				     size_t n)                                 \
	{                                                                      \
		T *d = dst, times;                                             \
		const T *x = a;                                                \
		V v;                                                           \
                                                                               \
		memcpy(&times, by, sizeof(times));                             \
		v = LOAD(times);                                               \
		GT_IVDEP for (size_t i = 0; i < n; i++)                        \
		{                                                              \
			V u = LOAD(x[i]);                                      \
                                                                               \
			d[i] = STORE(GT_PROD(W, u, v));                        \
		}                                                              \
	}

GT_TYPES(GT_SCALE, SCALE)

#define GT_TOTAL(NAME, T, LOAD, STORE)                                         \
	static void gt_begin_##NAME(float *totals, const void *a, size_t n)    \
	{                                                                      \
		const T *x = a;                                                \
                                                                               \
		GT_IVDEP for (size_t i = 0; i < n; i++) totals[i] =            \
			LOAD(x[i]);                                            \
	}                                                                      \
                                                                               \
	static void gt_add_##NAME(float *totals, const void *a, size_t n)      \
	{                                                                      \
		const T *x = a;                                                \
                                                                               \
		GT_IVDEP for (size_t i = 0; i < n; i++) totals[i] +=           \
			LOAD(x[i]);                                            \
	}                                                                      \
                                                                               \
	static void gt_end_##NAME(void *dst, const float *totals,              \
				  uint32_t divisor, size_t n)                  \
	{                                                                      \
		float by = divisor ? (float)divisor : 1;                       \
		T *d = dst;                                                    \
                                                                               \
		GT_IVDEP for (size_t i = 0; i < n; i++) d[i] =                 \
			STORE(totals[i] / by);                                 \
	}

GT_TOTAL(HALF, uint16_t, gt_half_to_float, gt_half_from_float)
GT_TOTAL(BF16, uint16_t, gt_bf16_to_float, gt_bf16_from_float)
GT_TOTAL(FP8_E4M3, uint8_t, gt_e4m3_to_float, gt_e4m3_from_float)
GT_TOTAL(FP8_E5M2, uint8_t, gt_e5m2_to_float, gt_e5m2_from_float)

#define GT_TOTALS(NAME)                                                        \
	[GT_DTYPE_##NAME] = {gt_begin_##NAME, gt_add_##NAME, gt_end_##NAME}

/* The tables are in the order of dtype.def's operators. */
GT_STATIC_ASSERT(GT_REDOP_SUM == 0 && GT_REDOP_PROD == 1 && GT_REDOP_MIN == 2 &&
			 GT_REDOP_MAX == 3 && GT_REDOP_AVG == 4 &&
			 GT_REDOP_PREMUL == 5,
		 "rows below are in order");

const struct gt_reduce_ops GT_REDUCE_TABLE = {
	.reduce =
		{
#define GT_DTYPE(NAME, name, bytes)                                            \
	{gt_SUM_##NAME, gt_PROD_##NAME, gt_MIN_##NAME,                         \
	 gt_MAX_##NAME, gt_SUM_##NAME,  gt_SUM_##NAME},
#include "base/dtype.def"
		},
	.divide =
		{
#define GT_DTYPE(NAME, name, bytes) gt_DIV_##NAME,
#include "base/dtype.def"
		},
	.scale =
		{
#define GT_DTYPE(NAME, name, bytes) gt_SCALE_##NAME,
#include "base/dtype.def"
		},
	.totals = {GT_TOTALS(HALF), GT_TOTALS(BF16), GT_TOTALS(FP8_E4M3),
		   GT_TOTALS(FP8_E5M2)},
};
