/* Finds the plan that takes over, and words what it proves. */
#include "cli/run/replan.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/common/proof_text.h"
#include "cli/common/reference.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/ir/survivors.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "topo/graph/topo.h"

/* All others wait for it, so the search has what it finds by then. */
static const int64_t gt_replan_budget_ns = 300000000;

int gt_run_replan_check(struct gt_plan *plan, unsigned colls,
			struct gt_err *err)
{
	int rc = gt_plan_check(plan, err);

	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++) {
		if (!(colls >> coll & 1))
			continue;
		rc = gt_plan_row(plan, (enum gt_coll)coll, 0)
			     ? gt_simulate(plan, (enum gt_coll)coll, err)
			     : gt_err_set(err, GT_ENO, NULL,
					  "the plan cannot do %s",
					  gt_coll_name((enum gt_coll)coll));
	}
	return rc;
}

/* The search that found the plan's kind of channels. */
static enum gt_planner_algo gt_replan_algo(const struct gt_plan *plan)
{
	static const enum gt_planner_algo algos[GT_NALGOS] = {
		[GT_ALGO_RING] = GT_PLANNER_RING,
		[GT_ALGO_TREE] = GT_PLANNER_FOREST,
		[GT_ALGO_ONE_SHOT] = GT_PLANNER_MESH,
		[GT_ALGO_TWO_SHOT] = GT_PLANNER_MESH,
		[GT_ALGO_FLOW] = GT_PLANNER_FLOW,
	};

	return plan->nselect > 1 ? GT_PLANNER_AUTO
				 : algos[gt_plan_main_row(plan)->algo];
}

/* The GPUs that are left, in order of rank, as the planner reads them. */
static void gt_replan_gpus(const struct gt_plan *plan, const uint8_t *gone,
			   struct gt_buf *list)
{
	for (uint32_t r = 0; r < plan->nranks; r++)
		if (!gone[r])
			gt_buf_printf(list, "%s%s", list->len ? "," : "",
				      plan->ranks[r].device);
}

/* The machine that the plan was found on: its file, or one that is known. */
static int gt_replan_machine(const struct gt_plan *plan, enum gt_rates rates,
			     struct gt_topo **topo, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	const char *name = strrchr(plan->source, '/'), *path;
	char *stem;
	int rc = arena ? gt_topo_read(plan->source, rates, topo, err)
		       : gt_err_nomem(err);

	name = name ? name + 1 : plan->source;
	stem = rc && arena ? gt_arena_strdup(arena, name) : NULL;
	if (stem) {
		stem[strcspn(stem, ".")] = '\0';
		rc = gt_reference_find(stem, arena, &path, err);
		if (!rc)
			rc = gt_topo_read(path, rates, topo, err);
	}
	gt_arena_free(arena);
	if (rc)
		return rc;
	if (!strcmp(gt_topo_digest(*topo), plan->digest))
		return GT_OK;
	gt_topo_free(*topo);
	return gt_err_set(err, GT_EINPUT, NULL, "it is another machine");
}

static int gt_replan_on(struct gt_topo *topo, const struct gt_plan *plan,
			const char *gpus, enum gt_rates rates, int invariant,
			struct gt_buf *text, struct gt_err *err)
{
	struct gt_budget budget = {.deadline_ns =
					   gt_clock_ns() + gt_replan_budget_ns};
	struct gt_planner_request request = {
		.algo = gt_replan_algo(plan),
		.coll = plan->coll,
		.invariant = invariant,
		.rates = rates,
		.gpus = gpus,
		.as_engines = 1,
		.budget = &budget,
	};
	struct gt_planner *planner;
	int rc = gt_planner_machine(&request, topo, &planner, err);

	if (rc)
		return rc;
	rc = gt_plan_print(gt_planner_result(planner)->plan, text, err);
	gt_planner_free(planner);
	return rc;
}

/* Search the machine; GT_EINPUT or GT_ENO where that brings nothing. */
static int gt_replan_search(const struct gt_plan *plan, const uint8_t *gone,
			    int invariant, struct gt_plan **out,
			    struct gt_err *err)
{
	enum gt_rates rates = gt_rates_find(plan->rates);
	struct gt_buf gpus = GT_BUF_INIT, text = GT_BUF_INIT;
	struct gt_topo *topo;
	int rc;

	if (!plan->source || !plan->digest || !plan->rates || plan->cluster ||
	    !strcmp(plan->source, "-"))
		return GT_EINPUT;
	rc = gt_replan_machine(plan, rates, &topo, err);
	if (rc)
		return rc;
	gt_replan_gpus(plan, gone, &gpus);
	rc = gpus.failed ? gt_err_nomem(err)
			 : gt_replan_on(topo, plan, gpus.text, rates, invariant,
					&text, err);
	if (!rc)
		rc = gt_plan_parse("the plan that takes over", text.text,
				   text.len, out, err);
	gt_topo_free(topo);
	gt_buf_release(&gpus);
	gt_buf_release(&text);
	return rc;
}

int gt_run_replan(const struct gt_plan *plan, const uint8_t *gone,
		  const struct gt_run_replan_want *want, struct gt_plan **out,
		  struct gt_err *err)
{
	int invariant = plan->invariant || want->invariant, rc;
	struct gt_err why;

	gt_err_init(&why);
	if (!gt_replan_search(plan, gone, invariant, out, &why)) {
		if (!gt_run_replan_check(*out, want->colls, &why))
			return GT_OK;
		gt_plan_free(*out);
	}
	rc = gt_plan_survivors(plan, gone, invariant, out, err);
	if (rc)
		return rc;
	rc = gt_run_replan_check(*out, want->colls, err);
	if (rc)
		gt_plan_free(*out);
	return rc;
}

void gt_run_replan_words(const struct gt_plan *plan, struct gt_buf *words)
{
	char rate[GT_PROOF_RATE_MAX], subject[GT_PROOF_SUBJECT_MAX];
	const struct gt_plan_proof *proof = &plan->proof;
	struct gt_proof_text text;

	gt_buf_printf(words, "%s", gt_proof_text_found(plan));
	if (!plan->has_proof) {
		gt_buf_puts(words, " of what is left of the plan, proved to be "
				   "right; how good nobody has asked");
		return;
	}
	text = (struct gt_proof_text){
		.subject = gt_proof_text_subject(plan, subject),
		.value = gt_plan_busbw(plan, proof->value),
		.bound = gt_plan_busbw(plan, proof->bound),
		.optimal = proof->optimal,
	};
	gt_buf_printf(words, " found on its machine, %s, ",
		      gt_proof_text_value(plan, rate));
	gt_proof_text_proved(&text, words);
}
