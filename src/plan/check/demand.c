/*
 * What a plan with a demand may be: its shares, loads and proof are those of
 * blocks that differ, so nothing in it may be about blocks that are alike.
 */
#include "plan/check/stages.h"

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"

int gt_check_demand(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_at at = gt_plan_at("demand");

	if (plan->coll != GT_COLL_ALLTOALL || plan->cluster)
		return gt_plan_wrong(plan, at, err,
				     "is for an alltoall whose ranks are "
				     "listed one by one");
	/* What comes for one channel would lie where another's has not left. */
	if (!plan->out_of_place)
		return gt_plan_wrong(plan, at, err,
				     "needs \"out_of_place\": true, since a "
				     "rank's blocks to and from another differ "
				     "in length");
	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].coll != plan->coll ||
		    plan->select[i].algo != GT_ALGO_FLOW)
			return gt_plan_wrong(
				plan, gt_plan_at("select[%u]", i), err,
				"is '%s' by algo '%s'; a demand takes alltoall "
				"by flow",
				gt_coll_name(plan->select[i].coll),
				gt_algo_name(plan->select[i].algo));
	if (plan->nmeasured)
		return gt_plan_wrong(plan, gt_plan_at("measurements"), err,
				     "are of blocks that are alike; the plan "
				     "has a demand");
	if (plan->has_proof && plan->proof.nparts)
		return gt_plan_wrong(plan,
				     gt_plan_at("proof.certificate.parts"), err,
				     "prove nothing about a demand; prices do");
	return GT_OK;
}
