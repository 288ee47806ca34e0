#include "quantile.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double gt_quantile(const double *values, uint32_t n, double q)
{
	double sorted[GT_QUANTILE_MOST], at = q * (n - 1);
	uint32_t low = (uint32_t)at;

	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare);
	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + (sorted[low + 1] - sorted[low]) * (at - low);
}
