#include "plan/check/check.h"

#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/lower/layout.h"
#include "plan/ir/plan.h"

static const struct gt_plan_channel *gt_row_channel(
	const struct gt_plan *plan, const struct gt_plan_select *row,
	uint32_t i)
{
	return &plan->channels[row->channels[i]];
}

static struct gt_plan_at gt_channel_at(const struct gt_check_use *check,
				       uint32_t i)
{
	return gt_plan_at("%s[%u].channels[%u]", check->list, check->index, i);
}

/* Does the channel have the hops that the collective needs? */
static int gt_check_directions(const struct gt_check_use *check, uint32_t i,
			       struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	enum gt_coll coll = check->use->coll;
	const struct gt_plan_channel *channel =
		gt_row_channel(plan, check->use, i);
	int both = gt_coll_goes_up(coll) && gt_coll_goes_down(coll);
	int up = gt_coll_goes_up(coll);
	const struct gt_plan_hop *first = channel->hops;

	if (plan->nranks < 2 || channel->nhops == 2 * (plan->nranks - 1))
		return GT_OK;
	if (channel->shape == GT_SHAPE_TREE)
		up ^= channel->parent[first->from] == (int64_t)first->to;
	else
		up = 0;
	if (!both && !up)
		return GT_OK;
	return gt_plan_wrong(plan, gt_channel_at(check, i), err,
			     "channel '%u' has no hops in the direction that "
			     "'%s' needs",
			     channel->id, gt_coll_name(coll));
}

/* A broadcast's or a reduce's trees have its root. */
static int gt_check_tree_root(const struct gt_check_use *check, uint32_t i,
			      struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	enum gt_coll coll = check->use->coll;
	const struct gt_plan_channel *channel =
		gt_row_channel(plan, check->use, i);
	uint32_t root = gt_layout_tree_root(channel, coll);

	if (!gt_coll_is_rooted(coll) || root == plan->root)
		return GT_OK;
	return gt_plan_wrong(plan, gt_channel_at(check, i), err,
			     "channel '%u' has its root at rank %u, the '%s' "
			     "at rank %u",
			     channel->id, root, gt_coll_name(coll), plan->root);
}

/* What a flow of a cluster does, and room for what is on its way meanwhile. */
static int gt_check_exchange(const struct gt_check_use *check,
			     struct gt_err *err)
{
	const struct gt_plan_select *use = check->use;
	uint32_t slots = use->slots ? use->slots : check->plan->fifo_slots;

	if (use->coll != GT_COLL_ALLTOALL)
		return gt_plan_wrong(
			check->plan,
			gt_plan_at("%s[%u].coll", check->list, check->index),
			err, "flows of a cluster do alltoall, not '%s'",
			gt_coll_name(use->coll));
	if (slots < GT_EXCHANGE_SLOTS)
		return gt_plan_wrong(
			check->plan,
			gt_plan_at("%s[%u].slots", check->list, check->index),
			err, "flows of a cluster need %d slots, not '%u'",
			GT_EXCHANGE_SLOTS, slots);
	return GT_OK;
}

int gt_check_purpose(const struct gt_check_use *check, struct gt_err *err)
{
	const struct gt_plan_select *use = check->use;
	int rc = GT_OK;

	if (!gt_algo_supports(use->algo, use->coll))
		return gt_plan_wrong(
			check->plan,
			gt_plan_at("%s[%u].algo", check->list, check->index),
			err, "'%s' cannot do '%s'", gt_algo_name(use->algo),
			gt_coll_name(use->coll));
	if (use->algo == GT_ALGO_FLOW && check->plan->cluster)
		return gt_check_exchange(check, err);
	for (uint32_t i = 0; i < use->nchannels && !rc; i++) {
		if (use->algo == GT_ALGO_FLOW)
			rc = gt_check_flow_use(check, i, err);
		if (use->algo != GT_ALGO_TREE || check->plan->cluster)
			continue;
		rc = gt_check_directions(check, i, err);
		if (!rc)
			rc = gt_check_tree_root(check, i, err);
	}
	return rc;
}

/* A block is 1/n of the result, and so are the shares of its trees. */
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

/* Of the main row: sums[0] of shares, sums[1] of gbs. */
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

int gt_check_shares(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = gt_check_positive(plan, err);

	for (uint32_t row = 0; row < plan->nselect && !rc; row++) {
		const struct gt_check_use check = {plan, &plan->select[row],
						   "select", row, NULL};

		rc = gt_check_purpose(&check, err);
	}
	if (!rc)
		rc = gt_check_main(plan, err);
	return rc ? rc : gt_check_roots(plan, err);
}
