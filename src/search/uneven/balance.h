/*
 * Trees of one rate each, so many from each root, such that the busiest link is
 * as little busy as can be: they are grown one after the other under prices,
 * and again and again each in turn, while prices get steeper.
 */
#ifndef GT_SEARCH_UNEVEN_BALANCE_H
#define GT_SEARCH_UNEVEN_BALANCE_H

#include <stdint.h>

#include "search/uneven/grow.h"

struct gt_budget;
struct gt_err;

struct gt_balance {
	const struct gt_ways *ways;
	uint32_t ntrees;
	uint32_t
		*roots; /* by tree; where it does not matter, where it begins */
	double most_gbs; /* of a tree: no more is possible, so none is sought */
	int all; /* keep the trees of all rounds, not those of the best */
	const struct gt_budget *budget; /* or NULL */
	/* The result, released by the caller. */
	uint32_t nkept;
	struct gt_grown *trees;
	uint32_t nrounds;
	double gbs; /* what the best round's trees carry at one rate, all */
};

/*
 * Drop the trees of which two mixes take no part; the others stay in their
 * order, and best[], whose entries move with them, is 0 behind the last.
 */
void gt_balance_drop(struct gt_balance *balance, const int64_t *parts,
		     int64_t *best);

/*
 * Grow so many trees more, beside those kept: among themselves, where links
 * begin at these prices (gt_grower_begin_at()).
 */
int gt_balance_add(struct gt_balance *balance, uint32_t n, const double *worth,
		   struct gt_err *err);

/* GT_ENO when a rank cannot be reached. */
int gt_balance_run(struct gt_balance *balance, struct gt_err *err);

void gt_balance_release(struct gt_balance *balance);

#endif
