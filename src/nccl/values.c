/*
 * NCCL numbers bf16 behind double and the maximum before the minimum; whoever
 * mixes these up gets wrong results and no error.
 */
#include "nccl/values.h"

int gt_values_dtype(gt_nccl_type type)
{
	static const signed char dtypes[] = {
		GT_DTYPE_INT8,   GT_DTYPE_UINT8,    GT_DTYPE_INT32,
		GT_DTYPE_UINT32, GT_DTYPE_INT64,    GT_DTYPE_UINT64,
		GT_DTYPE_HALF,   GT_DTYPE_FLOAT,    GT_DTYPE_DOUBLE,
		GT_DTYPE_BF16,   GT_DTYPE_FP8_E4M3, GT_DTYPE_FP8_E5M2,
	};

	return type >= 0 && (size_t)type < sizeof(dtypes) ? dtypes[type] : -1;
}

int gt_values_redop(gt_nccl_op op)
{
	static const signed char redops[GT_NCCL_OPS] = {
		GT_REDOP_SUM, GT_REDOP_PROD, GT_REDOP_MAX,
		GT_REDOP_MIN, GT_REDOP_AVG,
	};

	return op >= 0 && op < GT_NCCL_OPS ? redops[op] : -1;
}
