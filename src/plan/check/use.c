/*
 * One use of channels, as a row of select or a measurement names it: whether it
 * can be run at all, and whether the algorithm on these channels does the
 * collective.
 */
#include "plan/check/use.h"

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/switch_tree.h"
#include "plan/ir/cluster.h"
#include "plan/ir/detour.h"
#include "plan/ir/plan.h"
#include "plan/lower/layout.h"

enum {
	GT_MAX_SLOTS = 1 << 16,
	GT_MIN_SLICE_BYTES = 16,
	GT_MAX_SLICE_BYTES = 1 << 30,
	GT_MAX_WORKERS = 1024,
	GT_MAX_BLOCKS = 1024,
};

static struct gt_plan_at gt_use_at(const struct gt_use_check *check,
				   const char *key)
{
	return gt_plan_at("%s[%u].%s", check->list, check->index, key);
}

static int gt_check_used(const struct gt_use_check *check, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_select *use = check->use;

	for (uint32_t i = 0; i < use->nchannels; i++) {
		uint32_t c = use->channels[i];
		const struct gt_plan_channel *channel = &plan->channels[c];
		struct gt_plan_at at = gt_plan_at("%s[%u].channels[%u]",
						  check->list, check->index, i);

		if (check->seen[c] == check->index + 1)
			return gt_plan_wrong(plan, at, err,
					     "channel '%u' is used twice",
					     channel->id);
		check->seen[c] = check->index + 1;
		if (!gt_algo_fits_shape(use->algo, channel->shape))
			return gt_plan_wrong(
				plan, at, err,
				"channel '%u' is a %s; algo '%s' cannot use it",
				channel->id, gt_shape_name(channel->shape),
				gt_algo_name(use->algo));
	}
	return GT_OK;
}

static int gt_check_use_fifo(const struct gt_use_check *check,
			     struct gt_err *err)
{
	const struct gt_plan_select *use = check->use;

	if (use->slots > GT_MAX_SLOTS)
		return gt_plan_wrong(check->plan, gt_use_at(check, "slots"),
				     err, "'%u' is not within 1 and %d",
				     use->slots, GT_MAX_SLOTS);
	if (use->slice_bytes && (use->slice_bytes < GT_MIN_SLICE_BYTES ||
				 use->slice_bytes > GT_MAX_SLICE_BYTES))
		return gt_plan_wrong(
			check->plan, gt_use_at(check, "slice_bytes"), err,
			"'%u' is not within %d and %d", use->slice_bytes,
			GT_MIN_SLICE_BYTES, GT_MAX_SLICE_BYTES);
	if (!use->workers || use->workers > GT_MAX_WORKERS)
		return gt_plan_wrong(check->plan, gt_use_at(check, "workers"),
				     err, "'%u' is not within 1 and %d",
				     use->workers, GT_MAX_WORKERS);
	if (use->max_blocks > GT_MAX_BLOCKS)
		return gt_plan_wrong(check->plan,
				     gt_use_at(check, "max_blocks"), err,
				     "'%u' is not within 0 and %d",
				     use->max_blocks, GT_MAX_BLOCKS);
	return GT_OK;
}

static const char *gt_rank_node(const struct gt_plan *plan, uint32_t rank)
{
	return plan->ranks[rank].node ? plan->ranks[rank].node : "";
}

/*
 * A detour goes through the memory of one host, which all ranks have to reach.
 */
static int gt_check_detour(const struct gt_use_check *check, struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	uint32_t permille = check->use->detour_permille, r;
	struct gt_plan_at at = gt_use_at(check, "detour_permille");

	if (permille > GT_DETOUR_MAX_PERMILLE)
		return gt_plan_wrong(plan, at, err,
				     "'%u' is not within 0 and %d", permille,
				     GT_DETOUR_MAX_PERMILLE);
	r = permille ? gt_detour_outsider(plan) : plan->nranks;
	if (r < plan->nranks)
		return gt_plan_wrong(plan, at, err,
				     "ranks 0 and %u are on nodes '%s' and "
				     "'%s'; a detour is within one",
				     r, gt_rank_node(plan, 0),
				     gt_rank_node(plan, r));
	return GT_OK;
}

int gt_check_use(const struct gt_use_check *check, struct gt_err *err)
{
	int rc = gt_check_use_fifo(check, err);

	if (!rc)
		rc = gt_check_detour(check, err);
	if (!rc && !check->use->nchannels)
		rc = gt_plan_wrong(check->plan, gt_use_at(check, "channels"),
				   err, "there are none");
	return rc ? rc : gt_check_used(check, err);
}

static const struct gt_plan_channel *gt_use_channel(
	const struct gt_use_check *check, uint32_t i)
{
	return &check->plan->channels[check->use->channels[i]];
}

static struct gt_plan_at gt_channel_at(const struct gt_use_check *check,
				       uint32_t i)
{
	return gt_plan_at("%s[%u].channels[%u]", check->list, check->index, i);
}

/* Does the channel have the hops that the collective needs? */
static int gt_check_directions(const struct gt_use_check *check, uint32_t i,
			       struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	enum gt_coll coll = check->use->coll;
	const struct gt_plan_channel *channel = gt_use_channel(check, i);
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

/* The trees of a collective with a root have the same root. */
static int gt_check_tree_root(const struct gt_use_check *check, uint32_t i,
			      struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	enum gt_coll coll = check->use->coll;
	const struct gt_plan_channel *channel = gt_use_channel(check, i);
	uint32_t root = gt_layout_tree_root(channel, coll);

	if (!gt_coll_is_rooted(coll) || root == plan->root)
		return GT_OK;
	return gt_plan_wrong(plan, gt_channel_at(check, i), err,
			     "channel '%u' has its root at rank %u, the '%s' "
			     "at rank %u",
			     channel->id, root, gt_coll_name(coll), plan->root);
}

/*
 * Flows of a cluster do all-to-all only, and need slots for what is on its way
 * meanwhile.
 */
static int gt_check_exchange(const struct gt_use_check *check,
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

int gt_check_use_purpose(const struct gt_use_check *check, struct gt_err *err)
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
		if (use->algo == GT_ALGO_NVLS || use->algo == GT_ALGO_COLLNET)
			rc = gt_check_switch_use(check, i, err);
		if (use->algo != GT_ALGO_TREE || check->plan->cluster)
			continue;
		rc = gt_check_directions(check, i, err);
		if (!rc)
			rc = gt_check_tree_root(check, i, err);
	}
	return rc;
}

int gt_check_fifo(const struct gt_plan *plan, struct gt_err *err)
{
	if (!plan->fifo_slots || plan->fifo_slots > GT_MAX_SLOTS)
		return gt_plan_wrong(plan, gt_plan_at("fifo.slots"), err,
				     "'%u' is not within 1 and %d",
				     plan->fifo_slots, GT_MAX_SLOTS);
	if (plan->fifo_slice_bytes < GT_MIN_SLICE_BYTES ||
	    plan->fifo_slice_bytes > GT_MAX_SLICE_BYTES)
		return gt_plan_wrong(plan, gt_plan_at("fifo.slice_bytes"), err,
				     "'%u' is not within %d and %d",
				     plan->fifo_slice_bytes, GT_MIN_SLICE_BYTES,
				     GT_MAX_SLICE_BYTES);
	return GT_OK;
}
