/*
 * Trees grown under prices.  A link's price rises exponentially with what it
 * carries already, so a tree keeps off what is full (Aspnes, Azar, Fiat,
 * Plotkin and Waarts, "On-line routing of virtual circuits with applications to
 * load balancing and machine scheduling", 1997), and prices go on rising while
 * the tree grows.
 */
#ifndef GT_SEARCH_UNEVEN_GROW_H
#define GT_SEARCH_UNEVEN_GROW_H

#include <stdint.h>

#include "search/uneven/ways.h"

/* A tree: of each rank but the root, its parent and the ways to it. */
struct gt_grown {
	uint32_t root;
	uint32_t *parent;
	uint32_t *first; /* rank -> place in `ways`; one more at the end */
	uint32_t *ways;  /* in order from the parent on */
};

struct gt_grower;

/* NULL when memory ran out. */
struct gt_grower *gt_grower_new(const struct gt_ways *ways);
void gt_grower_free(struct gt_grower *grower);

/*
 * A tree's rate that is aimed at, and how steeply prices rise: by e to the
 * `steepness` from an empty link to one that such trees fill.  `step` is added
 * for each hop between the root and a parent, as a part of what a hop costs.
 */
void gt_grower_aim(struct gt_grower *grower, double gbs, double steepness,
		   double step);

/*
 * Have links' prices begin at these, per GB/s of what they carry (by link), and
 * not all at 1; NULL: as before.  They are borrowed.  Loads of all trees are
 * taken off.
 */
void gt_grower_begin_at(struct gt_grower *grower, const double *worth);

/*
 * Grow a tree from the root, whose loads count from now on.  GT_ENO when a rank
 * cannot be reached, which is then *missing.  The caller releases the tree.
 */
int gt_grower_grow(struct gt_grower *grower, uint32_t root,
		   struct gt_grown *tree, uint32_t *missing);

/* Take the loads of a tree off again. */
void gt_grower_forget(struct gt_grower *grower, const struct gt_grown *tree);

/* Add what a tree loads links with to load[], by link. */
void gt_grown_load(const struct gt_ways *ways, const struct gt_grown *tree,
		   float *load);

/* The most that a link is loaded with, over its capacity in GB/s. */
double gt_grower_busiest(const struct gt_grower *grower);

void gt_grown_release(struct gt_grown *tree);

#endif
