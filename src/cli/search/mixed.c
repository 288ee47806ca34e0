/*
 * Warns of machines where some GPUs have peer access and others have not: a
 * plan uses that access, and engines do not.
 */
#include "cli/search/mixed.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/common/apart.h"
#include "cli/common/command.h"
#include "plan/ir/plan.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "topo/graph/part.h"

/* Nobody asked for the second search, so it does not take long. */
enum { GT_MIXED_BUDGET_NS = 1000000000 };

/* Search once more, without any access; 0: that found nothing. */
static double gt_mixed_value(const struct gt_planner_request *request,
			     struct gt_topo *topo)
{
	struct gt_budget budget = {.deadline_ns =
					   gt_clock_ns() + GT_MIXED_BUDGET_NS};
	struct gt_planner_request again = *request;
	struct gt_planner *planner = NULL;
	struct gt_err none;
	double value = 0;

	gt_err_init(&none);
	again.explain = 0;
	again.budget = &budget;
	if (gt_topo_part_gpus(topo, "off", &none))
		return 0;
	if (!gt_planner_machine(&again, topo, &planner, &none)) {
		const struct gt_plan *plan = gt_planner_result(planner)->plan;

		value = gt_plan_busbw(plan, plan->proof.value);
	}
	gt_planner_free(planner);
	return value;
}

void gt_search_tell_mixed(const struct gt_cmd_args *args,
			  const struct gt_planner_request *request,
			  const struct gt_planner_result *result,
			  struct gt_topo *topo)
{
	const struct gt_plan *plan = result->plan;
	uint32_t pairs = plan->nranks * (plan->nranks - 1) / 2;
	uint32_t lack = gt_apart_pairs(topo, plan);
	double value = gt_plan_busbw(plan, plan->proof.value), left;

	if (result->apart)
		gt_cmd_warn(args,
			    "%u of %u pairs of GPUs have no peer access, and "
			    "engines then send all through the host's memory: "
			    "so does this plan, at %g GB/s busbw; --islands "
			    "uses what access there is",
			    result->apart, pairs, value);
	if (!lack || lack == pairs)
		return;
	left = gt_mixed_value(request, topo);
	if (left > 0)
		gt_cmd_warn(args,
			    "%u of %u pairs of GPUs have no peer access, and "
			    "engines then send all through the host's memory: "
			    "that leaves %g of these %g GB/s busbw, for which "
			    "a search without --islands plans",
			    lack, pairs, left, value);
	else
		gt_cmd_warn(args,
			    "%u of %u pairs of GPUs have no peer access, and "
			    "engines then send all through the host's memory; "
			    "a search without --islands plans for that",
			    lack, pairs);
}
