/*
 * A demand's paths where rails join switches (search/rails/rails.h), without a
 * linear program.
 */
#ifndef GT_SEARCH_FLOW_BY_RAILS_H
#define GT_SEARCH_FLOW_BY_RAILS_H

#include <stdint.h>

struct gt_err;
struct gt_proposal;
struct gt_shape_args;

/*
 * Propose channels for args->demand, whose value is their bound.  GT_ENO,
 * without words, where the fabric is another one, where more channels would be
 * needed than `limit`, or where the schedule is not proved to be the best: then
 * the program knows more.
 */
int gt_flow_by_rails(const struct gt_shape_args *args, uint32_t limit,
		     struct gt_proposal *proposal, struct gt_err *err);

#endif
