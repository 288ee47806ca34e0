/* The loops for x86 processors with AVX2. */
#ifdef __x86_64__
#ifdef __clang__
/* clang-format off */
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to=function)
/* clang-format on */
#else
#pragma GCC optimize("O3", "no-trapping-math")
#pragma GCC target("avx2")
#endif
#define GT_REDUCE_TABLE gt_reduce_avx2
#include "exec/host/reduce_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int gt_reduce_avx2_is_for_x86;
#endif
