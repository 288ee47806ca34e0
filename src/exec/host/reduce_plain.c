/* The loops for any processor of the architecture. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#define GT_REDUCE_TABLE gt_reduce_plain
#include "exec/host/reduce_loops.h"
