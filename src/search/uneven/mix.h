/*
 * Of many trees from one root, or of an all-reduce, how much of each: a linear
 * program over the links that would be full.  Floats lead the way; parts are
 * whole numbers, whose loads are then added up exactly by whoever uses them.
 */
#ifndef GT_SEARCH_UNEVEN_MIX_H
#define GT_SEARCH_UNEVEN_MIX_H

#include <stdint.h>

#include "search/uneven/grow.h"
#include "search/uneven/ways.h"

struct gt_mix {
	/* By tree, some of them 0, at least one not; the caller's memory. */
	int64_t *parts;
	/*
	 * By link, the caller's: what another GB/s of it would bring, times its
	 * capacity, so that all together come to what the parts carry.
	 */
	double *worth;
	double gbs; /* what they carry */
};

/* GT_ESYS: no memory. */
int gt_mix_trees(const struct gt_ways *ways, const struct gt_grown *trees,
		 uint32_t ntrees, struct gt_mix *mix);

#endif
