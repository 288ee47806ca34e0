/*
 * The certificate about rings of one share: for each number k of such rings,
 * prices show that k rings of more than value / k each do not fit.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/plan.h"

/* Loads are multiples of 1 / unit; a larger unit is not tried. */
enum { GT_EQUAL_UNIT_MAX = 1024, GT_EQUAL_COST_BITS = 58 };

struct gt_equal_check {
	const struct gt_plan *plan;
	const struct gt_plan_route **table;
	struct gt_plan_at at;
	int64_t unit;
	struct gt_rat *prices; /* by link */
	struct gt_hop_costs costs;
};

/*
 * The least common multiple of the denominators of all charges; 0 when it is
 * too large.
 */
static int64_t gt_equal_charges(const struct gt_plan *plan)
{
	struct gt_rat unit = GT_RAT(1, 1), times;

	for (uint32_t i = 0; i < plan->proof.nroutes; i++)
		if (!gt_rat_make(plan->proof.routes[i].charge.den, unit.num,
				 &times) ||
		    !gt_rat_mul(unit, GT_RAT(times.num, 1), &unit) ||
		    unit.num > GT_EQUAL_UNIT_MAX)
			return 0;
	return unit.num;
}

/*
 * The load that k rings of more than value / k each may put on the link: the
 * multiple of 1 / unit that is next below k * capacity / value.
 */
static int gt_equal_room(const struct gt_equal_check *check, uint32_t link,
			 uint32_t k, struct gt_rat *room)
{
	const struct gt_plan *plan = check->plan;
	int64_t most;

	if (!gt_rat_div(plan->links[link].gbs, plan->proof.value, room) ||
	    !gt_rat_mul(*room, GT_RAT((int64_t)k * check->unit, 1), room))
		return 0;
	most = room->num / room->den - (room->den == 1);
	return gt_rat_make(most > 0 ? most : 0, check->unit, room);
}

/*
 * Is all that fits on the links worth less than k under the prices for k rings?
 */
static int gt_equal_worth(struct gt_equal_check *check, uint32_t k,
			  struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_prices *prices = &plan->proof.equal[k - 1];
	struct gt_rat sum = GT_RAT(0, 1), term;
	int ok = 1;

	for (uint32_t i = 0; i < plan->nlinks; i++)
		check->prices[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < prices->n && ok; i++) {
		uint32_t link = prices->list[i].link;

		if (link >= plan->nlinks || prices->list[i].price.num < 0)
			return gt_plan_wrong(plan, check->at, err,
					     "price number %u is negative or "
					     "of no link",
					     i);
		check->prices[link] = prices->list[i].price;
		ok = gt_equal_room(check, link, k, &term) &&
		     gt_rat_mul(term, prices->list[i].price, &term) &&
		     gt_rat_add(sum, term, &sum);
	}
	if (ok && gt_rat_cmp(sum, GT_RAT(k, 1)) < 0)
		return GT_OK;
	return gt_plan_wrong(plan, check->at, err,
			     "all that fits is worth %u or more: these prices "
			     "leave room for %u rings",
			     k, k);
}

/*
 * Does every ring cost 1 or more?  A fault is reported as one of these prices,
 * not of the bound's.
 */
static int gt_equal_costs(struct gt_equal_check *check,
			  enum gt_bound_state *state, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	gt_check_costs(plan, check->table, check->prices, &check->costs);
	rc = gt_check_ring_costs(plan, plan->nranks, &check->costs, state,
				 &why);
	if (rc == GT_ENO)
		return gt_plan_wrong(plan, check->at, err, "%s", why.text);
	return rc ? gt_err_nomem(err) : GT_OK;
}

static int gt_equal_each(struct gt_equal_check *check,
			 struct gt_plan_report *report, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	enum gt_bound_state state = GT_BOUND_PROVEN;
	int rc = GT_OK;

	report->equal = GT_BOUND_PROVEN;
	for (uint32_t k = 1; k <= plan->proof.nequal && !rc; k++) {
		if (!plan->proof.equal[k - 1].n) {
			report->nopen++;
			continue;
		}
		check->at = gt_plan_at("proof.certificate.equal[%u]", k - 1);
		rc = gt_equal_worth(check, k, err);
		if (rc)
			return rc;
		rc = gt_equal_costs(check, &state, err);
		if (state != GT_BOUND_PROVEN)
			report->equal = state;
	}
	return rc;
}

/*
 * The rings of the plan have one share, and there are no more of them than the
 * certificate speaks of.
 */
static int gt_equal_rings(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	struct gt_plan_at at = gt_plan_at("proof.certificate.equal");

	if (plan->proof.class_ != GT_PROOF_RING || plan->proof.value.num <= 0)
		return gt_plan_wrong(plan, at, err,
				     "is for proofs of class ring");
	for (uint32_t i = 0; i < row->nchannels; i++)
		if (gt_rat_cmp(plan->channels[row->channels[i]].gbs,
			       plan->channels[row->channels[0]].gbs))
			return gt_plan_wrong(
				plan, at, err,
				"is for channels that have one share");
	if (row->nchannels > plan->proof.nequal)
		return gt_plan_wrong(plan, at, err,
				     "speaks of %u rings or fewer, but there "
				     "are %u",
				     plan->proof.nequal, row->nchannels);
	return GT_OK;
}

int gt_check_equal_shares(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  struct gt_plan_report *report, struct gt_err *err)
{
	size_t n = plan->proof.nroutes ? plan->nranks : 1, nn = n * n;
	struct gt_equal_check check = {
		.plan = plan,
		.table = table,
		.unit = gt_equal_charges(plan),
		.prices =
			calloc((size_t)plan->nlinks + 1, sizeof(struct gt_rat)),
		.costs = {.cost = calloc(nn, sizeof(int64_t)),
			  .most = 1,
			  .unit_max = (int64_t)1 << GT_EQUAL_COST_BITS},
	};
	int rc = gt_equal_rings(plan, err);

	if (!check.prices || !check.costs.cost)
		rc = gt_err_nomem(err);
	if (!rc && !plan->proof.nroutes)
		report->equal = GT_BOUND_NO_ROUTES;
	else if (!rc && !check.unit)
		report->equal = GT_BOUND_TOO_FINE;
	else if (!rc)
		rc = gt_equal_each(&check, report, err);
	free(check.prices);
	free(check.costs.cost);
	return rc;
}
