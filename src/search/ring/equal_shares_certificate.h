/*
 * The proof that no equal rings reach more (struct gt_plan_proof): for each
 * number of them, prices of links of which only whole hops of a larger share
 * count.
 */
#ifndef GT_SEARCH_RING_EQUAL_SHARES_CERTIFICATE_H
#define GT_SEARCH_RING_EQUAL_SHARES_CERTIFICATE_H

#include <stdint.h>

struct gt_err;
struct gt_equal_query;
struct gt_proposal;

/*
 * The proposal has equal rings, unless it is the best of unequal ones too; the
 * prices join it.  Up to 8 ranks.
 */
int gt_equal_prove(const struct gt_equal_query *ask,
		   struct gt_proposal *proposal, struct gt_err *err);

#endif
