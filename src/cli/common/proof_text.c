/*
 * The wordings of proofs, so that no two commands word the same fact
 * differently.
 */
#include "cli/common/proof_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

const char *gt_proof_text_found(const struct gt_plan *plan)
{
	enum gt_algo algo = gt_plan_main_row(plan)->algo;

	if (algo == GT_ALGO_ONE_SHOT || algo == GT_ALGO_TWO_SHOT)
		return "a mesh";
	if (plan->proof.class_ == GT_PROOF_RING)
		return "rings";
	if (plan->proof.class_ == GT_PROOF_SWITCH)
		return "trees through switches that add up";
	return gt_coll_only_moves(plan->coll) ? "flows" : "trees";
}

const char *gt_proof_text_rate(double busbw, double algbw,
			       char text[GT_PROOF_RATE_MAX])
{
	snprintf(text, GT_PROOF_RATE_MAX, "%g GB/s busbw (%.4g algbw)", busbw,
		 algbw);
	return text;
}

const char *gt_proof_text_value(const struct gt_plan *plan,
				char text[GT_PROOF_RATE_MAX])
{
	return gt_proof_text_rate(gt_plan_busbw(plan, plan->proof.value),
				  gt_plan_algbw(plan, plan->proof.value), text);
}

/*
 * Prices and parts prove what the routes that are named can carry, and sets may
 * leave out links that none of those crosses.
 */
static const char *over_routes(const struct gt_plan *plan, int any)
{
	const struct gt_plan_proof *proof = &plan->proof;
	int of_class = !any && proof->class_ != GT_PROOF_ANY;
	int priced = proof->class_ == GT_PROOF_ANY && proof->nprices;

	if (proof->class_ == GT_PROOF_SWITCH)
		return "";
	if (!plan->cluster && !of_class && proof->nparts && !proof->nroutes)
		return " over the links it lists";
	/* A bound of any schedule holds for relays, which need no words. */
	if (of_class && proof->relays &&
	    !(proof->has_any_bound &&
	      !gt_rat_cmp(proof->bound, proof->any_bound)))
		return " over its routes and relays";
	return of_class || priced || proof->nparts || proof->nunused
		       ? " over its routes"
		       : "";
}

const char *gt_proof_text_routes(const struct gt_plan *plan, int any)
{
	const char *routes = over_routes(plan, any);

	if (!plan->cluster || !plan->cluster->common)
		return routes;
	return *routes ? " over its routes with what all nodes have"
		       : " with what all nodes have";
}

const char *gt_proof_text_subject(const struct gt_plan *plan,
				  char text[GT_PROOF_SUBJECT_MAX])
{
	const struct gt_plan_proof *proof = &plan->proof;
	const char *routes = gt_proof_text_routes(plan, 0);
	uint32_t n = proof->max_channels;

	if (plan->cluster && proof->class_ != GT_PROOF_RING)
		snprintf(text, GT_PROOF_SUBJECT_MAX, "schedule%s reaches",
			 routes);
	else if (plan->cluster || !n)
		snprintf(text, GT_PROOF_SUBJECT_MAX, "%s%s reach",
			 proof->class_ == GT_PROOF_ANY
				 ? "schedules"
				 : gt_proof_text_found(plan),
			 routes);
	else
		snprintf(text, GT_PROOF_SUBJECT_MAX,
			 "%" PRIu32 " ring%s or fewer%s reach", n, gt_plural(n),
			 routes);
	return text;
}

void gt_proof_text_rings(uint32_t n, struct gt_buf *out)
{
	gt_buf_printf(out, "%" PRIu32 " ring%s or fewer", n, gt_plural(n));
}

double gt_proof_text_gap(double value, double bound)
{
	return 100 * (bound / value - 1);
}

int gt_proof_text_is_rounding(double gap_percent)
{
	return gap_percent < 1e-8;
}

/* Add by how much a bound is above the value. */
static void add_gap(double value, double bound, const char *above,
		    struct gt_buf *out)
{
	double gap = gt_proof_text_gap(value, bound);

	gt_buf_printf(out, " than %g GB/s busbw", bound);
	if (gt_proof_text_is_rounding(gap))
		gt_buf_puts(out, " (this but for the rounding of shares)");
	else
		gt_buf_printf(out, " (%.3g%% %s)", gap, above);
}

void gt_proof_text_proved(const struct gt_proof_text *text, struct gt_buf *out)
{
	gt_buf_printf(out, "proved: no %s more", text->subject);
	if (!text->optimal)
		add_gap(text->value, text->bound, "above this", out);
}

void gt_proof_text_any(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_plan_busbw(plan, proof->value);
	double any = gt_plan_busbw(plan, proof->any_bound);

	gt_buf_printf(out, "no schedule%s reaches more",
		      gt_proof_text_routes(plan, 1));
	if (gt_rat_cmp(proof->value, proof->any_bound))
		add_gap(value, any, "more", out);
}

void gt_proof_text_open(const struct gt_plan_proof *proof, struct gt_buf *out)
{
	const char *between = " but for";

	for (uint32_t k = 1; k <= proof->nequal; k++) {
		if (proof->equal[k - 1].n)
			continue;
		gt_buf_printf(out, "%s %" PRIu32, between, k);
		between = ",";
	}
}
