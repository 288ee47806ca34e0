/*
 * Which rank is nearest to a tree, and by which ways, while the tree grows and
 * ways get dearer.  Between ranks of the tree and others, paths lead over
 * places and switches alone.
 */
#ifndef GT_SEARCH_UNEVEN_NEAREST_H
#define GT_SEARCH_UNEVEN_NEAREST_H

#include <stdint.h>

struct gt_nearest;
struct gt_ways;

/*
 * NULL when memory ran out.  cost[] is by way, and borrowed: it may rise at any
 * time, which is then told, and change otherwise only where all begins anew.
 */
struct gt_nearest *gt_nearest_new(const struct gt_ways *ways,
				  const double *cost);
void gt_nearest_free(struct gt_nearest *nearest);

/* No rank is in the tree. */
void gt_nearest_begin(struct gt_nearest *nearest);

/* The rank is in the tree from now on, so far from what all is counted from. */
void gt_nearest_join(struct gt_nearest *nearest, uint32_t rank, double far);

/* The rank that is nearest, and how far it is; UINT32_MAX: none is left. */
uint32_t gt_nearest_rank(struct gt_nearest *nearest, double *far);

/* The last way to that rank, or to a place or switch on the path to it. */
uint32_t gt_nearest_via(const struct gt_nearest *nearest, uint32_t vertex);

/* These ways may cost more than before; gt_nearest_repair() follows. */
void gt_nearest_raise(struct gt_nearest *nearest, uint32_t way);
void gt_nearest_repair(struct gt_nearest *nearest);

#endif
