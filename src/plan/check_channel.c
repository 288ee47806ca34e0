#include "plan/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/layout.h"
#include "plan/plan.h"

enum { GT_MAX_CHANNELS = 1024 };

/* Checked about one channel: the plan, its index, and a byte for each rank. */
struct gt_channel_check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t index;
	unsigned char *seen;
};

static int gt_check_order(const struct gt_channel_check *check,
			  struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks;

	memset(check->seen, 0, n);
	for (uint32_t i = 0; i < channel->norder; i++) {
		uint32_t rank = channel->order[i];
		struct gt_plan_at at =
			gt_plan_at("channels[%u].order[%u]", check->index, i);

		if (rank >= n)
			return gt_plan_wrong(check->plan, at, err,
					     "there is no rank '%u'", rank);
		if (check->seen[rank]++)
			return gt_plan_wrong(check->plan, at, err,
					     "rank '%u' is named twice", rank);
	}
	for (uint32_t rank = 0; rank < n; rank++)
		if (!check->seen[rank])
			return gt_plan_wrong(
				check->plan,
				gt_plan_at("channels[%u].order", check->index),
				err, "rank '%u' is left out", rank);
	return GT_OK;
}

static int gt_check_hop_ends(const struct gt_channel_check *check, uint32_t i,
			     uint32_t from, uint32_t to, struct gt_err *err)
{
	const struct gt_plan_hop *hop = &check->channel->hops[i];

	if (hop->from == from && hop->to == to)
		return GT_OK;
	return gt_plan_wrong(
		check->plan,
		gt_plan_at("channels[%u].hops[%u]", check->index, i), err,
		"goes from %u to %u where the order goes from %u "
		"to %u",
		hop->from, hop->to, from, to);
}

static int gt_check_hop_count(const struct gt_channel_check *check,
			      uint32_t nhops, struct gt_err *err)
{
	if (check->channel->nhops == nhops)
		return GT_OK;
	return gt_plan_wrong(
		check->plan, gt_plan_at("channels[%u].hops", check->index), err,
		"there are %u for a %s of %u ranks, which needs %u",
		check->channel->nhops, gt_shape_name(check->channel->shape),
		check->plan->nranks, nhops);
}

/* A ring's hops follow its order and close it; a chain's do not close. */
static int gt_check_path(const struct gt_channel_check *check,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks, nhops = n - 1;
	int rc = gt_check_order(check, err);

	if (channel->shape == GT_SHAPE_RING && n > 1)
		nhops = n;
	if (!rc)
		rc = gt_check_hop_count(check, nhops, err);
	for (uint32_t i = 0; i < nhops && !rc; i++)
		rc = gt_check_hop_ends(check, i, channel->order[i],
				       channel->order[(i + 1) % n], err);
	return rc;
}

static int gt_check_parents(const struct gt_channel_check *check,
			    struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;

	for (uint32_t rank = 0; rank < check->plan->nranks; rank++)
		if ((channel->parent[rank] < 0) != (rank == channel->root))
			return gt_plan_wrong(check->plan,
					     gt_plan_at("channels[%u].parent["
							"%u]",
							check->index, rank),
					     err,
					     "the root, rank %u, and it alone "
					     "has parent -1",
					     channel->root);
	return GT_OK;
}

/* Up from every rank; ranks known to reach the root are marked. */
static int gt_check_climb(const struct gt_channel_check *check,
			  struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks, up, steps;

	memset(check->seen, 0, n);
	check->seen[channel->root] = 1;
	for (uint32_t rank = 0; rank < n; rank++) {
		for (up = rank, steps = 0; !check->seen[up] && steps < n;
		     steps++)
			up = (uint32_t)channel->parent[up];
		if (!check->seen[up])
			return gt_plan_wrong(check->plan,
					     gt_plan_at("channels[%u].parent["
							"%u]",
							check->index, rank),
					     err,
					     "does not lead up to the root, "
					     "rank %u",
					     channel->root);
		for (up = rank; !check->seen[up];
		     up = (uint32_t)channel->parent[up])
			check->seen[up] = 1;
	}
	return GT_OK;
}

/*
 * Each edge of the tree is one hop, in any order: down, and up for a
 * reduce-scatter.
 */
static int gt_check_tree(const struct gt_channel_check *check,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks;
	int up = check->plan->coll == GT_COLL_REDUCESCATTER;
	int rc = gt_check_parents(check, err);

	if (!rc)
		rc = gt_check_climb(check, err);
	if (!rc)
		rc = gt_check_hop_count(check, n - 1, err);
	if (rc)
		return rc;
	memset(check->seen, 0, n);
	for (uint32_t i = 0; i < n - 1; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];
		uint32_t child = up ? hop->from : hop->to;
		uint32_t parent = up ? hop->to : hop->from;

		if (child < n && !check->seen[child]++ &&
		    channel->parent[child] == (int64_t)parent)
			continue;
		return gt_plan_wrong(
			check->plan,
			gt_plan_at("channels[%u].hops[%u]", check->index, i),
			err,
			"from %u to %u is not an edge of the "
			"tree, or not the first time",
			hop->from, hop->to);
	}
	return GT_OK;
}

/* A block is 1/n of the result, and so are the shares of its trees. */
static int gt_check_root(const struct gt_plan *plan, uint32_t rank,
			 struct gt_err *err)
{
	struct gt_rat sum = GT_RAT(0, 1);
	char text[GT_RAT_TEXT_MAX];
	uint32_t root;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		if (gt_layout_root(&plan->channels[i], plan->coll, &root) &&
		    root == rank &&
		    !gt_rat_add(sum, plan->channels[i].share, &sum))
			return gt_plan_wrong(plan, gt_plan_at("channels"), err,
					     "shares need more than 64 bits");
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
	uint32_t nrooted = 0, root;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		nrooted += (uint32_t)gt_layout_root(&plan->channels[i],
						    plan->coll, &root);
	if (!nrooted)
		return GT_OK;
	if (nrooted != plan->nchannels)
		return gt_plan_wrong(plan, gt_plan_at("channels"), err,
				     "rings stand beside trees or chains");
	for (uint32_t rank = 0; rank < plan->nranks && !rc; rank++)
		rc = gt_check_root(plan, rank, err);
	return rc;
}

/* sums[0] of shares, sums[1] of gbs */
static int gt_check_sums(const struct gt_plan *plan, struct gt_rat sums[2],
			 struct gt_err *err)
{
	sums[0] = sums[1] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		if (channel->share.num <= 0)
			return gt_plan_wrong(
				plan, gt_plan_at("channels[%u].share", i), err,
				"is not positive");
		if (!gt_rat_add(sums[0], channel->share, &sums[0]) ||
		    !gt_rat_add(sums[1], channel->gbs, &sums[1]))
			return gt_plan_wrong(plan,
					     gt_plan_at("channels[%u]", i), err,
					     "the sum of shares or gbs up to "
					     "here needs more than 64 bits");
	}
	return GT_OK;
}

static int gt_check_shares(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_rat sums[2], gbs;
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
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		if (!gt_rat_mul(channel->share, sums[1], &gbs) ||
		    gt_rat_cmp(gbs, channel->gbs))
			return gt_plan_wrong(
				plan, gt_plan_at("channels[%u].gbs", i), err,
				"is '%s', which is not the channel's share of "
				"'%s'",
				gt_rat_print(channel->gbs, text[0]),
				gt_rat_print(sums[1], text[1]));
	}
	return GT_OK;
}

static int gt_check_channel(const struct gt_channel_check *check,
			    struct gt_err *err)
{
	switch (check->channel->shape) {
	case GT_SHAPE_RING:
	case GT_SHAPE_CHAIN:
		return gt_check_path(check, err);
	case GT_SHAPE_TREE:
		return gt_check_tree(check, err);
	default:
		return gt_plan_wrong(
			check->plan,
			gt_plan_at("channels[%u].shape", check->index), err,
			"'%s' cannot be checked",
			gt_shape_name(check->channel->shape));
	}
}

int gt_check_channels(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_channel_check check = {.plan = plan};
	int rc = GT_OK;

	if (!plan->nranks || !plan->nchannels ||
	    plan->nchannels > GT_MAX_CHANNELS)
		return gt_plan_wrong(plan, gt_plan_at("channels"), err,
				     "there are %u for %u ranks",
				     plan->nchannels, plan->nranks);
	check.seen = calloc(plan->nranks, 1);
	if (!check.seen)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < plan->nchannels && !rc; i++) {
		check.channel = &plan->channels[i];
		check.index = i;
		rc = gt_check_channel(&check, err);
	}
	free(check.seen);
	if (!rc)
		rc = gt_check_shares(plan, err);
	return rc ? rc : gt_check_roots(plan, err);
}
