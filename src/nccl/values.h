/* NCCL's numbers of types and operators, and ours. */
#ifndef GT_NCCL_VALUES_H
#define GT_NCCL_VALUES_H

#include "base/dtype.h"
#include "nccl/abi.h"

/* The type, or -1 for a number that is none. */
int gt_values_dtype(gt_nccl_type type);

/* The operator, or -1 for a number that is none or was made by a program. */
int gt_values_redop(gt_nccl_op op);

#endif
