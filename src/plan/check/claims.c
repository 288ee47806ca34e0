/*
 * Claims of a proof are checked here without its certificate: value, bound and
 * `optimal` have to agree, and the class has to be one that the collective and
 * the algorithm of the proof's row can have.
 */
#include "plan/check/bounds.h"

#include <math.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"

/* Six digits are exact to half of the last one of 1.00000. */
#define GT_BUSBW_SLACK_PART 5.1e-6
#define GT_GAP_SLACK        1e-6

static int wrong_class(const struct gt_plan *plan, struct gt_err *err)
{
	return gt_plan_wrong(plan, gt_plan_at("proof.class"), err,
			     "'%s' is not what %s by algo '%s' can be",
			     gt_proof_name(plan->proof.class_),
			     gt_coll_name(plan->coll),
			     gt_algo_name(gt_plan_main_row(plan)->algo));
}

/*
 * What switches that compute reach is beyond what bounds all others, so of
 * those only a bound of their own class is a claim.
 */
static int gt_check_class(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	enum gt_algo algo = gt_plan_main_row(plan)->algo;
	int switches = algo == GT_ALGO_NVLS || algo == GT_ALGO_COLLNET;
	int reduces = plan->coll == GT_COLL_ALLREDUCE;
	int moves = gt_coll_only_moves(plan->coll) &&
		    (algo == GT_ALGO_FLOW || algo == GT_ALGO_ONE_SHOT);

	if (proof->class_ == GT_PROOF_ANY && proof->nprices && !moves &&
	    (reduces || algo != GT_ALGO_TREE))
		return gt_plan_wrong(
			plan, gt_plan_at("proof.certificate.prices"), err,
			"prove nothing about any %s by algo '%s'",
			gt_coll_name(plan->coll), gt_algo_name(algo));
	if (proof->class_ == GT_PROOF_ANY ||
	    (proof->class_ == GT_PROOF_RING && algo == GT_ALGO_RING) ||
	    (proof->class_ == GT_PROOF_TREE && algo == GT_ALGO_TREE && reduces))
		return switches ? wrong_class(plan, err) : GT_OK;
	if (proof->class_ == GT_PROOF_SWITCH && switches &&
	    !proof->has_any_bound && !proof->nparts && !proof->nequal)
		return GT_OK;
	return wrong_class(plan, err);
}

/*
 * The proof says that it is about at most max_channels channels: only a proof
 * about rings can, and the plan must not use more.
 */
static int gt_check_limit(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	uint32_t used = gt_plan_main_row(plan)->nchannels;

	if (proof->class_ != GT_PROOF_RING)
		return gt_plan_wrong(plan, gt_plan_at("proof.max_channels"),
				     err, "is for proofs of class ring");
	if (used > proof->max_channels)
		return gt_plan_wrong(plan, gt_plan_at("proof.max_channels"),
				     err, "is %u, but %u channels are used",
				     proof->max_channels, used);
	if (proof->channel_price.num < 0)
		return gt_plan_wrong(
			plan, gt_plan_at("proof.certificate.channel_price"),
			err, "is negative");
	return gt_check_class(plan, err);
}

/* A file that states the busbw has it from the value, to six digits. */
static int gt_check_busbw(const struct gt_plan *plan, struct gt_err *err)
{
	double stated = plan->proof.busbw_gbs;
	double is = gt_plan_busbw(plan, plan->proof.value);

	if (!plan->proof.has_busbw ||
	    fabs(stated - is) <= GT_BUSBW_SLACK_PART * is)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.busbw_gbs"), err,
			     "is %g, but the value is %g GB/s busbw", stated,
			     is);
}

/* And so is the gap, of which six digits are told. */
static int gt_check_gap(const struct gt_plan *plan, struct gt_err *err)
{
	double stated = plan->proof.gap, is = gt_plan_gap(plan);

	if (!plan->proof.has_gap || fabs(stated - is) <= GT_GAP_SLACK)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.gap"), err,
			     "is %g, but value and bound are %g apart", stated,
			     is);
}

int gt_check_claims(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &plan->proof;
	int cmp = gt_rat_cmp(proof->value, proof->bound);
	int rc = gt_check_busbw(plan, err);
	char text[2][GT_RAT_TEXT_MAX];

	if (rc)
		return rc;
	gt_rat_print(proof->value, text[0]);
	gt_rat_print(proof->bound, text[1]);
	if (cmp > 0)
		return gt_plan_wrong(plan, gt_plan_at("proof.bound"), err,
				     "is '%s', but the plan's value is '%s'",
				     text[1], text[0]);
	if (proof->optimal != !cmp)
		return gt_plan_wrong(plan, gt_plan_at("proof.optimal"), err,
				     "is %s, but value is '%s' and bound '%s'",
				     proof->optimal ? "true" : "false", text[0],
				     text[1]);
	if (proof->has_any_bound &&
	    gt_rat_cmp(proof->value, proof->any_bound) > 0)
		return gt_plan_wrong(plan, gt_plan_at("proof.any_bound"), err,
				     "is '%s', but the plan's value is '%s'",
				     gt_rat_print(proof->any_bound, text[1]),
				     text[0]);
	rc = gt_check_gap(plan, err);
	if (rc)
		return rc;
	if (proof->max_channels || proof->channel_price.num)
		return gt_check_limit(plan, err);
	return gt_check_class(plan, err);
}
