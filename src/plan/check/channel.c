/*
 * Channels as graphs: rings and chains are permutations of the ranks, trees
 * span them, meshes have every pair of ranks, and hops are what the shape says.
 */
#include "plan/check/stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/fault.h"
#include "plan/check/switch_tree.h"
#include "plan/ir/plan.h"

enum { GT_MAX_CHANNELS = 1024, GT_MAX_CHUNKS = 1 << 16 };

/*
 * The checks of one channel share this: the plan, the channel's index, and a
 * byte for each rank.
 */
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
			      uint64_t nhops, struct gt_err *err)
{
	if (check->channel->nhops == nhops)
		return GT_OK;
	return gt_plan_wrong(
		check->plan, gt_plan_at("channels[%u].hops", check->index), err,
		"there are %u for a %s of %u ranks, which needs %llu",
		check->channel->nhops, gt_shape_name(check->channel->shape),
		check->plan->nranks, (unsigned long long)nhops);
}

/*
 * The hops of a ring follow its order and close it.  One that leads elsewhere
 * is the first of two by which that rank relays.
 */
static int gt_check_ring(const struct gt_channel_check *check,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks, nhops = n > 1 ? n : 0, at = 0;
	int rc = gt_check_order(check, err);

	/* Relays of long rings would have lanes without end, and no search. */
	if (!rc && (channel->nhops < nhops || channel->nhops > 2 * nhops ||
		    n > GT_RING_MAX))
		rc = gt_check_hop_count(check, nhops, err);
	for (uint32_t k = 0; k < nhops && !rc; k++) {
		uint32_t from = channel->order[k], via;
		uint32_t to = channel->order[(k + 1) % n];
		/* as many are left as hops that may be relayed */
		int relayed = channel->nhops - at > n - k &&
			      channel->hops[at].to < n &&
			      channel->hops[at].to != to &&
			      channel->hops[at].to != from;

		via = relayed ? channel->hops[at].to : to;
		rc = gt_check_hop_ends(check, at++, from, via, err);
		if (!rc && relayed)
			rc = gt_check_hop_ends(check, at++, via, to, err);
	}
	return rc ? rc : gt_check_hop_count(check, at, err);
}

/*
 * The hops of a chain follow its order, and may be followed by the hops of the
 * way back, from the first hop's on.
 */
static int gt_check_path(const struct gt_channel_check *check,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks, nhops = n - 1;
	int rc = gt_check_order(check, err);

	if (channel->nhops == 2 * nhops)
		nhops *= 2;
	if (!rc)
		rc = gt_check_hop_count(check, nhops, err);
	for (uint32_t i = 0; i < nhops && !rc; i++) {
		uint32_t k = i % (n - 1);
		uint32_t from = channel->order[k];
		uint32_t to = channel->order[k + 1];

		if (k == i)
			rc = gt_check_hop_ends(check, i, from, to, err);
		else
			rc = gt_check_hop_ends(check, i, to, from, err);
	}
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

/* Every rank leads up to the root; ranks that are known to do so are marked. */
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
 * A tree's hops are its edges, in any order: all down, all up, or both.  In
 * seen[child] bit 1 is set when the hop down to the child was met, bit 2 for
 * the hop up from it.
 */
static int gt_check_edge(const struct gt_channel_check *check, uint32_t i,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	const struct gt_plan_hop *hop = &channel->hops[i];
	uint32_t n = check->plan->nranks;
	int down =
		hop->to < n && channel->parent[hop->to] == (int64_t)hop->from;
	int up =
		hop->from < n && channel->parent[hop->from] == (int64_t)hop->to;
	unsigned char *seen = &check->seen[down ? hop->to : hop->from];

	if ((down || up) && !(*seen & (down ? 1 : 2))) {
		*seen |= down ? 1 : 2;
		return GT_OK;
	}
	return gt_plan_wrong(
		check->plan,
		gt_plan_at("channels[%u].hops[%u]", check->index, i), err,
		"from %u to %u is not an edge of the tree, or not "
		"the first time",
		hop->from, hop->to);
}

static int gt_check_tree(const struct gt_channel_check *check,
			 struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks;
	int rc = gt_check_parents(check, err);

	if (!rc)
		rc = gt_check_climb(check, err);
	if (!rc && channel->nhops != 2 * (n - 1))
		rc = gt_check_hop_count(check, n - 1, err);
	memset(check->seen, 0, n);
	for (uint32_t i = 0; i < channel->nhops && !rc; i++)
		rc = gt_check_edge(check, i, err);
	for (uint32_t rank = 0; rank < n && !rc; rank++)
		if (rank != channel->root &&
		    check->seen[rank] != check->seen[channel->root ? 0 : 1])
			rc = gt_plan_wrong(
				check->plan,
				gt_plan_at("channels[%u].hops", check->index),
				err,
				"the edge of rank %u does not have the "
				"directions of the others",
				rank);
	return rc;
}

/*
 * A mesh has every ordered pair of ranks once; other shapes have the pairs that
 * they need.
 */
static int gt_check_pairs(const struct gt_channel_check *check,
			  struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = check->plan->nranks;
	unsigned char *pairs;
	int rc = GT_OK;

	if (channel->shape == GT_SHAPE_MESH || channel->nhops > (uint64_t)n * n)
		rc = gt_check_hop_count(check, (uint64_t)n * (n - 1), err);
	if (rc)
		return rc;
	pairs = calloc((size_t)n * n, 1);
	if (!pairs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < channel->nhops && !rc; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (hop->from >= n || hop->to >= n || hop->from == hop->to ||
		    pairs[hop->from * (size_t)n + hop->to]++)
			rc = gt_plan_wrong(
				check->plan,
				gt_plan_at("channels[%u].hops[%u]",
					   check->index, i),
				err,
				"from %u to %u is no pair of ranks, or not the "
				"first time",
				hop->from, hop->to);
	}
	free(pairs);
	return rc;
}

static int gt_check_chunks(const struct gt_channel_check *check,
			   struct gt_err *err)
{
	const struct gt_plan_channel *channel = check->channel;

	if (channel->nchunks && channel->nchunks <= GT_MAX_CHUNKS &&
	    channel->nscratch <= GT_MAX_CHUNKS)
		return GT_OK;
	return gt_plan_wrong(
		check->plan, gt_plan_at("channels[%u].chunks", check->index),
		err, "'%u', or '%u' of scratch, are not up to %d",
		channel->nchunks, channel->nscratch, GT_MAX_CHUNKS);
}

static int gt_check_channel(const struct gt_channel_check *check,
			    struct gt_err *err)
{
	int rc;

	switch (check->channel->shape) {
	case GT_SHAPE_RING:
		return gt_check_ring(check, err);
	case GT_SHAPE_CHAIN:
		return gt_check_path(check, err);
	case GT_SHAPE_TREE:
		return gt_check_tree(check, err);
	case GT_SHAPE_STEPS:
		rc = gt_check_chunks(check, err);
		return rc ? rc : gt_check_pairs(check, err);
	case GT_SHAPE_FLOW:
		rc = gt_check_pairs(check, err);
		return rc ? rc : gt_check_flow(check->plan, check->index, err);
	case GT_SHAPE_MESH:
		return gt_check_pairs(check, err);
	case GT_SHAPE_SWITCH:
		return gt_check_switch_tree(check->plan, check->index, err);
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
	return rc;
}
