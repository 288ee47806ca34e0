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

/* parts[] by tree, some of them 0, at least one not.  GT_ESYS: no memory. */
int gt_mix_trees(const struct gt_ways *ways, const struct gt_grown *trees,
		 uint32_t ntrees, int64_t *parts);

#endif
