/*
 * Asks for NCCL's choice and for the best, and for reasons where they differ.
 */
#include "search/nccl/answer.h"

#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "topo/graph/topo.h"
#include "topo/nccl/choose.h"

/* What is nearer to the best than this is the best. */
#define GT_NCCL_SAME_PART 1e-6

static int gt_nccl_choice(struct gt_nccl_answer *answer, struct gt_arena *arena,
			  struct gt_err *err)
{
	const struct gt_nccl_facts *facts =
		gt_nccl_system_facts(answer->system);
	struct gt_nccl_rules rules;
	int rc;

	gt_nccl_rules_init(facts->sm, &rules);
	rc = gt_nccl_choose(answer->system, &rules, NULL, arena, &answer->rings,
			    err);
	if (!rc)
		rc = gt_nccl_choose(answer->system, &rules, &answer->rings,
				    arena, &answer->trees, err);
	if (!rc)
		answer->gbs = (double)answer->rings.nchannels *
			      (double)answer->rings.kbs / 1e6;
	return rc;
}

/* Finds the best rings, or the best equal ones of at most so many channels. */
static int gt_nccl_best(struct gt_topo *topo, const struct gt_budget *budget,
			uint32_t max_channels, double gbs[2],
			struct gt_err *err)
{
	const struct gt_planner_request request = {
		.algo = GT_PLANNER_RING,
		.coll = -1,
		.rates = GT_RATES_NCCL,
		.max_channels = max_channels,
		.equal = max_channels != 0,
		.budget = budget,
	};
	struct gt_planner *planner = NULL;
	const struct gt_plan *plan;
	int rc = gt_planner_machine(&request, topo, &planner, err);

	if (rc)
		return rc;
	plan = gt_planner_result(planner)->plan;
	gbs[0] = gt_plan_busbw(plan, plan->proof.value);
	gbs[1] = gt_plan_busbw(plan, plan->proof.bound);
	gt_planner_free(planner);
	return GT_OK;
}

static int gt_nccl_compare(struct gt_topo *topo, const struct gt_budget *budget,
			   struct gt_nccl_answer *answer, struct gt_err *err)
{
	double best[2], graph[2] = {0, 0};
	struct gt_err none; /* Equal rings may not be found in time. */
	int rc = gt_nccl_best(topo, budget, 0, best, err);

	if (rc)
		return rc;
	gt_err_init(&none);
	rc = gt_nccl_best(topo, budget, GT_NCCL_GRAPH_CHANNELS, graph, &none);
	if (rc && rc != GT_ENO)
		return gt_err_set(err, rc, none.where, "%s", none.text);
	answer->best_gbs = best[0];
	answer->bound_gbs = best[1];
	answer->graph_gbs = graph[0];
	answer->has_reasons = answer->gbs < best[0] * (1 - GT_NCCL_SAME_PART);
	if (!answer->has_reasons)
		return GT_OK;
	return gt_nccl_reasons(answer->system, budget ? budget->deadline_ns : 0,
			       &answer->reasons, err);
}

int gt_nccl_answer(struct gt_topo *topo, const struct gt_budget *budget,
		   struct gt_nccl_answer *answer, struct gt_arena *arena,
		   struct gt_err *err)
{
	int rc = gt_nccl_system_new(topo, 1, &answer->as_is, err);

	if (rc)
		return rc;
	answer->facts = gt_nccl_system_facts(answer->as_is);
	answer->system = answer->as_is;
	if (answer->facts->apart != GT_NONE) {
		rc = gt_nccl_system_new(topo, 0, &answer->together, err);
		answer->system = answer->together;
	}
	if (!rc)
		rc = gt_nccl_choice(answer, arena, err);
	if (!rc && answer->facts->ngpus > 1)
		rc = gt_nccl_compare(topo, budget, answer, err);
	return rc;
}

void gt_nccl_answer_release(struct gt_nccl_answer *answer)
{
	gt_nccl_system_free(answer->as_is);
	gt_nccl_system_free(answer->together);
}
