/*
 * Hops' costs under prices of links, as exact integers: the fractions are
 * brought to one denominator, so that the searches for a cheapest ring, tree
 * or path compare whole numbers.
 */
#include "plan/check/hop_costs.h"

#include <string.h>

#include "plan/ir/plan.h"

struct gt_rat gt_plan_link_charge(const struct gt_plan *plan, uint32_t link,
				  struct gt_rat charge)
{
	const char *kind = plan->links[link].kind;

	return kind && !strcmp(kind, "PCI") ? charge : GT_RAT(1, 1);
}

int gt_check_route_cost(const struct gt_plan *plan,
			const struct gt_plan_route *route,
			const struct gt_rat *prices, struct gt_rat *cost)
{
	struct gt_rat term;

	*cost = GT_RAT(0, 1);
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (!gt_rat_mul(prices[link],
				gt_plan_link_charge(plan, link, route->charge),
				&term) ||
		    !gt_rat_add(*cost, term, cost))
			return 0;
	}
	return 1;
}

/*
 * Make the unit the least common multiple of itself and den; the result is 0
 * when that is too large.
 */
static int gt_unit_refine(struct gt_hop_costs *costs, int64_t den)
{
	int64_t a = costs->unit, b = den, rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return !__builtin_mul_overflow(costs->unit, den / a, &costs->unit) &&
	       costs->unit <= costs->unit_max;
}

/*
 * Pass 0 finds the unit of all costs, pass 1 writes the cost number `at` in
 * that unit.
 */
static int gt_cost_take(struct gt_hop_costs *costs, struct gt_rat rat,
			uint32_t at, int pass)
{
	if (gt_rat_cmp(rat, GT_RAT(costs->most, 1)) > 0)
		rat = GT_RAT(costs->most, 1);
	if (!pass)
		return gt_unit_refine(costs, rat.den);
	costs->cost[at] = costs->unit / rat.den * rat.num;
	return 1;
}

void gt_check_scale(const struct gt_rat *rats, uint32_t n,
		    struct gt_hop_costs *costs)
{
	int ok = 1;

	costs->unit = 1;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n && ok; i++)
			ok = gt_cost_take(costs, rats[i], i, pass);
	if (!ok)
		costs->unit = 0;
}

void gt_check_costs(const struct gt_plan *plan,
		    const struct gt_plan_route **table,
		    const struct gt_rat *prices, struct gt_hop_costs *costs)
{
	uint32_t n = plan->nranks;
	struct gt_rat rat;
	int ok = 1;

	costs->unit = 1;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n * n && ok; i++)
			ok = !table[i] || (gt_check_route_cost(plan, table[i],
							       prices, &rat) &&
					   gt_cost_take(costs, rat, i, pass));
	if (!ok)
		costs->unit = 0;
}
