/*
 * Costs of hops under prices of links, in whole multiples of 1 / unit, are the
 * common ground of all checks that a certificate's prices prove a bound.
 *
 * A route costs the sum over its links of price times charge.
 */
#ifndef GT_PLAN_CHECK_HOP_COSTS_H
#define GT_PLAN_CHECK_HOP_COSTS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_plan;
struct gt_plan_route;

/*
 * cost[] is the caller's: by from * nranks + to.  A cost of `most` or more
 * counts as `most`.  `unit` is the common denominator that was found, or 0 when
 * there is none up to unit_max.
 */
struct gt_hop_costs {
	int64_t *cost;
	int64_t most, unit, unit_max;
};

/*
 * The factor by which a link is loaded more than the rate of a route that
 * crosses it: the route's charge on PCI links, 1 on others.
 */
struct gt_rat gt_plan_link_charge(const struct gt_plan *plan, uint32_t link,
				  struct gt_rat charge);

/*
 * Compute what a route costs; the result is 0 when that takes more than 64
 * bits.
 */
int gt_check_route_cost(const struct gt_plan *plan,
			const struct gt_plan_route *route,
			const struct gt_rat *prices, struct gt_rat *cost);

/* Bring n costs to one denominator: costs->cost[i] becomes that of rats[i]. */
void gt_check_scale(const struct gt_rat *rats, uint32_t n,
		    struct gt_hop_costs *costs);

/*
 * The costs of all routes in the table, which is by from * nranks + to; the
 * cost of a pair without a route stays as it is.
 */
void gt_check_costs(const struct gt_plan *plan,
		    const struct gt_plan_route **table,
		    const struct gt_rat *prices, struct gt_hop_costs *costs);

#endif
