/*
 * The wordings of proofs, so that no two commands word the same fact
 * differently.
 */
#include "cli/common/proof_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "plan/ir/plan.h"

const char *gt_proof_text_found(const struct gt_plan *plan)
{
	if (plan->proof.class_ == GT_PROOF_RING)
		return "rings";
	return gt_coll_only_moves(plan->coll) ? "flows" : "trees";
}

const char *gt_proof_text_subject(const struct gt_plan *plan,
				  char text[GT_PROOF_SUBJECT_MAX])
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (plan->cluster && proof->class_ != GT_PROOF_RING)
		return "schedule reaches";
	if (plan->cluster || !proof->max_channels)
		snprintf(text, GT_PROOF_SUBJECT_MAX, "%s reach",
			 proof->class_ == GT_PROOF_ANY
				 ? "schedules"
				 : gt_proof_text_found(plan));
	else
		snprintf(text, GT_PROOF_SUBJECT_MAX,
			 "%" PRIu32 " ring%s or fewer reach",
			 proof->max_channels, gt_plural(proof->max_channels));
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

void gt_proof_text_proved(const struct gt_proof_text *text, struct gt_buf *out)
{
	gt_buf_printf(out, "proved: no %s more", text->subject);
	if (!text->optimal)
		gt_buf_printf(out, " than %g %s (%.3g%% above this)",
			      text->bound, text->unit,
			      gt_proof_text_gap(text->value, text->bound));
}

void gt_proof_text_any(const struct gt_plan_proof *proof, struct gt_buf *out)
{
	double any = gt_rat_double(proof->any_bound);

	gt_buf_printf(out,
		      "no schedule at all reaches more than %g GB/s (%.3g%% "
		      "more)",
		      any, gt_proof_text_gap(gt_rat_double(proof->value), any));
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
