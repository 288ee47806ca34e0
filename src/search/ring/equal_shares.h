/*
 * Channels of equal shares, as NCCL has them: k of them, the total of which
 * is largest.
 *
 * k channels of a share t fit when their loads, which are whole, are within
 * every capacity / t rounded down.  So only shares matter at which some
 * capacity rounds to a new number; and what unequal channels reach in the
 * rounded capacities, rounded down, bounds k.  Shares are tried in the order
 * of what this bound leaves them, until none is left that could be better:
 * what is found then is the best there is.  Whole channels in rounded
 * capacities are found by diving (search/lp/diving.h).
 */
#ifndef GT_SEARCH_RING_EQUAL_SHARES_H
#define GT_SEARCH_RING_EQUAL_SHARES_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_fabric;
struct gt_proposal;
struct gt_shape_args;
struct gt_shape_entry;

struct gt_equal_query {
	const struct gt_shape_args *args;
	const struct gt_shape_entry *shape;
	uint32_t groups;   /* roots of which each needs channels; 1 for rings */
	uint32_t min, max; /* channels a group, at least 1 */
	const struct gt_rat *above; /* only more than this; NULL: anything */
};

/*
 * All charges of the fabric's routes are multiples of one part in so many; 0
 * where that number is too large.
 */
int64_t gt_equal_unit(const struct gt_fabric *fabric);

/*
 * Put equal channels into the place of the unequal ones that the shape has
 * proposed; its bound stays.  *most is what such channels reach at most.
 * GT_ENO when there are none, or none were found.
 */
int gt_equal_shares(const struct gt_equal_query *ask,
		    struct gt_proposal *proposal, struct gt_rat *most,
		    struct gt_err *err);

/*
 * equal_shares_certificate.c: the proof that no equal rings reach more (struct
 * gt_plan_proof): for each number of them, prices of links of which only whole
 * hops of a larger share count.
 *
 * The proposal has equal rings, unless it is the best of unequal ones too; the
 * prices join it.  Up to 8 ranks.
 */
int gt_equal_prove(const struct gt_equal_query *ask,
		   struct gt_proposal *proposal, struct gt_err *err);

#endif
