/*
 * Shares and rates: the shares of the proof's row sum to 1, its channels' rates
 * are those shares of the value, other rows' shares are in proportion to rates,
 * and every block of a collective with blocks is moved in full.
 */
#include "plan/check/stages.h"

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/use.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/lower/layout.h"

static const struct gt_plan_channel *gt_row_channel(
	const struct gt_plan *plan, const struct gt_plan_select *row,
	uint32_t i)
{
	return &plan->channels[row->channels[i]];
}

/*
 * A block is 1/n of the result, so the shares of the trees that are rooted at
 * one rank sum to 1/n.
 */
static int gt_check_root(const struct gt_plan *plan, uint32_t rank,
			 struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	struct gt_rat sum = GT_RAT(0, 1);
	char text[GT_RAT_TEXT_MAX];
	uint32_t root;

	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			gt_row_channel(plan, row, i);

		if (gt_layout_only_block(channel, plan->coll, &root) &&
		    root == rank && !gt_rat_add(sum, channel->share, &sum))
			return gt_plan_wrong(plan, gt_plan_at("channels"), err,
					     "shares need more than 64 bits");
	}
	if (gt_rat_cmp(sum, GT_RAT(1, plan->nranks)))
		return gt_plan_wrong(plan, gt_plan_at("channels"), err,
				     "shares of what is rooted at rank %u sum "
				     "to '%s', not to '1/%u'",
				     rank, gt_rat_print(sum, text),
				     plan->nranks);
	return GT_OK;
}

static int gt_check_roots(const struct gt_plan *plan, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	uint32_t root;
	int rc = GT_OK;

	if (!gt_layout_only_block(gt_row_channel(plan, row, 0), plan->coll,
				  &root))
		return GT_OK;
	for (uint32_t rank = 0; rank < plan->nranks && !rc; rank++)
		rc = gt_check_root(plan, rank, err);
	return rc;
}

/* The sums over the proof's row: sums[0] is of shares, sums[1] of gbs. */
static int gt_check_sums(const struct gt_plan *plan, struct gt_rat sums[2],
			 struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);

	sums[0] = sums[1] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			gt_row_channel(plan, row, i);

		if (!gt_rat_add(sums[0], channel->share, &sums[0]) ||
		    !gt_rat_add(sums[1], channel->gbs, &sums[1]))
			return gt_plan_wrong(
				plan,
				gt_plan_at("channels[%u]", row->channels[i]),
				err,
				"the sum of shares or gbs up to here needs "
				"more than 64 bits");
	}
	return GT_OK;
}

static int gt_check_proportions(const struct gt_plan *plan, struct gt_rat sum,
				struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	char text[2][GT_RAT_TEXT_MAX];
	struct gt_rat gbs;

	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			gt_row_channel(plan, row, i);

		if (!gt_rat_mul(channel->share, sum, &gbs) ||
		    gt_rat_cmp(gbs, channel->gbs))
			return gt_plan_wrong(
				plan,
				gt_plan_at("channels[%u].gbs",
					   row->channels[i]),
				err,
				"is '%s', which is not the channel's share of "
				"'%s'",
				gt_rat_print(channel->gbs, text[0]),
				gt_rat_print(sum, text[1]));
	}
	return GT_OK;
}

static int gt_check_positive(const struct gt_plan *plan, struct gt_err *err)
{
	for (uint32_t i = 0; i < plan->nchannels; i++)
		if (plan->channels[i].share.num <= 0)
			return gt_plan_wrong(
				plan, gt_plan_at("channels[%u].share", i), err,
				"is not positive");
	return GT_OK;
}

static int gt_check_main(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_rat sums[2];
	char text[2][GT_RAT_TEXT_MAX];
	int rc = gt_check_sums(plan, sums, err);

	if (rc)
		return rc;
	if (gt_rat_cmp(sums[0], GT_RAT(1, 1)))
		return gt_plan_wrong(plan, gt_plan_at("channels"), err,
				     "shares sum to '%s', not to 1",
				     gt_rat_print(sums[0], text[0]));
	if (plan->has_proof && gt_rat_cmp(sums[1], plan->proof.value))
		return gt_plan_wrong(plan, gt_plan_at("proof.value"), err,
				     "is '%s', but the channels' gbs sum to "
				     "'%s'",
				     gt_rat_print(plan->proof.value, text[0]),
				     gt_rat_print(sums[1], text[1]));
	return gt_check_proportions(plan, sums[1], err);
}

/*
 * Are two channels' shares as their gbs?  Where products need more than 64 bits
 * floats have to tell.
 */
static int gt_is_proportional(const struct gt_plan_channel *a,
			      const struct gt_plan_channel *b)
{
	struct gt_rat left, right;
	double x, y;

	if (gt_rat_mul(a->share, b->gbs, &left) &&
	    gt_rat_mul(b->share, a->gbs, &right))
		return !gt_rat_cmp(left, right);
	x = gt_rat_double(a->share) * gt_rat_double(b->gbs);
	y = gt_rat_double(b->share) * gt_rat_double(a->gbs);
	return x - y <= 1e-12 * y && y - x <= 1e-12 * y;
}

/*
 * In every row channels are as wide as what they carry, or the widest would
 * wait for the others.
 */
static int gt_check_row_proportions(const struct gt_plan *plan, uint32_t r,
				    struct gt_err *err)
{
	const struct gt_plan_select *row = &plan->select[r];
	const struct gt_plan_channel *first = gt_row_channel(plan, row, 0);

	for (uint32_t i = 1; i < row->nchannels; i++) {
		const struct gt_plan_channel *other =
			gt_row_channel(plan, row, i);

		if (gt_is_proportional(first, other))
			continue;
		return gt_plan_wrong(plan, gt_plan_at("select[%u].channels", r),
				     err,
				     "shares of channels %u and %u are not in "
				     "proportion to their gbs",
				     first->id, other->id);
	}
	return GT_OK;
}

int gt_check_shares(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = gt_check_positive(plan, err);

	for (uint32_t row = 0; row < plan->nselect && !rc; row++) {
		const struct gt_use_check check = {plan, &plan->select[row],
						   "select", row, NULL};

		rc = gt_check_use_purpose(&check, err);
	}
	if (!rc)
		rc = gt_check_main(plan, err);
	for (uint32_t row = 0; row < plan->nselect && !rc; row++)
		rc = gt_check_row_proportions(plan, row, err);
	return rc ? rc : gt_check_roots(plan, err);
}
