/*
 * Rings that each count a whole number of times: diving (search/lp/diving.h),
 * and for few ranks trying all (search/ring/enumerate.h).
 */
#ifndef GT_SEARCH_RING_INTEGRAL_H
#define GT_SEARCH_RING_INTEGRAL_H

#include <stdint.h>

struct gt_err;
struct gt_proposal;
struct gt_shape_args;

/*
 * So many rings of 1 GB/s each, where capacities are whole multiples of loads:
 * the shape's whole().
 */
int gt_ring_integral(const struct gt_shape_args *args, uint32_t count,
		     int *none, struct gt_proposal *proposal,
		     struct gt_err *err);

#endif
