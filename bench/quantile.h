/* Order statistics of what was measured a few times. */
#ifndef GT_BENCH_QUANTILE_H
#define GT_BENCH_QUANTILE_H

#include <stdint.h>

enum { GT_QUANTILE_MOST = 99 };

/*
 * Interpolated between the nearest two of n values, 1 to GT_QUANTILE_MOST; q is
 * from 0 to 1.
 */
double gt_quantile(const double *values, uint32_t n, double q);

#endif
