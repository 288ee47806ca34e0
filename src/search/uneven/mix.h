/*
 * Of many trees from one root, of an all-reduce, or with as much from each
 * root, how much of each: a linear program over the links that would be full.
 * Floats lead the way; parts are whole numbers, whose loads are then added up
 * exactly by whoever uses them.
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

/* Trees; with `each`, every rank is the root of as much, and of some. */
struct gt_mix_of {
	const struct gt_grown *trees;
	uint32_t n;
	int each;
};

/* GT_ESYS: no memory. */
int gt_mix_trees(const struct gt_ways *ways, const struct gt_mix_of *of,
		 struct gt_mix *mix);

#endif
