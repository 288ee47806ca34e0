/*
 * From a concurrent flow to channels.  The forest's trees of blocks say how
 * much of each pair's bytes go along which path; a channel has one path a
 * pair.  Cutting every sender's trees side by side gives channels that are
 * right, but many; a few equal ones that do as well are looked for.
 */
#ifndef GT_SEARCH_FLOW_PATHS_H
#define GT_SEARCH_FLOW_PATHS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_forest;
struct gt_forest_shares;
struct gt_row_load;

/* A path of a pair of ranks over these hops, and the rows that it loads. */
struct gt_flow_path {
	uint32_t pair, nhops, nloads;
	uint32_t *ranks;  /* nhops + 1 */
	uint32_t *routes; /* by hop: the number of its route */
	struct gt_row_load *loads;
};

struct gt_flow_rank_pair {
	uint32_t from, to;
	uint32_t npaths, size;
	uint32_t *paths;
};

struct gt_flow_paths {
	struct gt_forest *forest;
	const struct gt_forest_shares *shares;
	struct gt_rat rate; /* of a unit of each pair */
	struct gt_rat goal; /* what fewer channels are to reach */
	int optimal;        /* the forest's prices say: no more than the goal */
	uint32_t npairs, npaths, size;
	struct gt_flow_rank_pair *pairs;
	struct gt_flow_path *paths;
	/* pick[channel * npairs + pair]: path; nums add up to den */
	uint32_t nchannels;
	uint32_t *pick;
	int64_t *nums, den;
};

/*
 * The pairs, and the paths of the trees; channels by cutting.  All memory is
 * the forest's arena's.  Only GT_ESYS can fail, here and below.
 */
int gt_flow_paths_init(struct gt_flow_paths *flow, struct gt_forest *forest,
		       const struct gt_forest_shares *shares,
		       struct gt_err *err);

/* The number of the pair's path that the tree has, added if need be. */
int gt_flow_paths_add(struct gt_flow_paths *flow, uint32_t pair,
		      const uint32_t *ranks, const uint32_t *routes,
		      uint32_t nhops, uint32_t *path);

/*
 * The path that a pair takes in the tree which stands at `num`, of shares->den,
 * when the sender's trees are laid side by side.
 */
int gt_flow_paths_at(struct gt_flow_paths *flow, uint32_t pair, int64_t num,
		     uint32_t *path);

/*
 * Replace the channels by fewer, of which at most `limit`: equal ones at the
 * same rate or, where the limit is too low for that, at a lower one.
 */
int gt_flow_assign_paths(struct gt_flow_paths *flow, uint32_t limit,
			 struct gt_err *err);

#endif
