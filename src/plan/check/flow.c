/*
 * Flows: pairs of ranks whose blocks go through other ranks name a path, and
 * every pair that a collective needs has a hop or a path.
 */
#include "plan/check/stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/use.h"
#include "plan/ir/plan.h"

/*
 * The most paths of a channel, whose numbers take 16 bits, and the most ranks
 * whose pairs are listed.
 */
enum { GT_FLOW_MAX_PATHS = UINT16_MAX - 1, GT_FLOW_MAX_RANKS = 4096 };

/* Bits for what a channel has for an ordered pair of ranks. */
enum { GT_PAIR_HOP = 1, GT_PAIR_PATH = 2 };

/* The check of one flow; pair[from * n + to] has bits GT_PAIR_*. */
struct gt_flow_check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t index;
	unsigned char *pair, *seen;
};

static unsigned char *gt_flow_pair(const struct gt_flow_check *check,
				   uint32_t from, uint32_t to)
{
	return &check->pair[(size_t)from * check->plan->nranks + to];
}

static struct gt_plan_at gt_flow_at(const struct gt_flow_check *check,
				    uint32_t path)
{
	return gt_plan_at("channels[%u].paths[%u]", check->index, path);
}

/*
 * A path's ranks exist, none of them is named twice, and the path is the first
 * one of its pair.
 */
static int gt_check_path_ranks(const struct gt_flow_check *check, uint32_t p,
			       struct gt_err *err)
{
	const struct gt_plan_path *path = &check->channel->paths[p];
	uint32_t n = check->plan->nranks;
	unsigned char *pair;

	if (path->nranks < 3)
		return gt_plan_wrong(check->plan, gt_flow_at(check, p), err,
				     "is not of at least 3 ranks");
	memset(check->seen, 0, n);
	for (uint32_t k = 0; k < path->nranks; k++)
		if (path->ranks[k] >= n || check->seen[path->ranks[k]]++)
			return gt_plan_wrong(check->plan, gt_flow_at(check, p),
					     err,
					     "there is no rank '%u', or it is "
					     "named twice",
					     path->ranks[k]);
	pair = gt_flow_pair(check, path->ranks[0],
			    path->ranks[path->nranks - 1]);
	if (*pair & GT_PAIR_PATH)
		return gt_plan_wrong(check->plan, gt_flow_at(check, p), err,
				     "is a second one from %u to %u",
				     path->ranks[0],
				     path->ranks[path->nranks - 1]);
	*pair |= GT_PAIR_PATH;
	return GT_OK;
}

static int gt_check_path_hops(const struct gt_flow_check *check, uint32_t p,
			      struct gt_err *err)
{
	const struct gt_plan_path *path = &check->channel->paths[p];

	for (uint32_t k = 0; k + 1 < path->nranks; k++)
		if (!(*gt_flow_pair(check, path->ranks[k], path->ranks[k + 1]) &
		      GT_PAIR_HOP))
			return gt_plan_wrong(
				check->plan, gt_flow_at(check, p), err,
				"the channel has no hop from %u "
				"to %u",
				path->ranks[k], path->ranks[k + 1]);
	return GT_OK;
}

/*
 * Mark the pairs that have a hop; that hops are of distinct pairs was checked
 * before.
 */
static int gt_flow_check_init(struct gt_flow_check *check,
			      const struct gt_plan *plan, uint32_t index)
{
	size_t n = plan->nranks;

	check->plan = plan;
	check->channel = &plan->channels[index];
	check->index = index;
	check->pair = calloc(n * n, 1);
	check->seen = calloc(n, 1);
	if (!check->pair || !check->seen)
		return GT_ESYS;
	for (uint32_t i = 0; i < check->channel->nhops; i++)
		*gt_flow_pair(check, check->channel->hops[i].from,
			      check->channel->hops[i].to) |= GT_PAIR_HOP;
	return GT_OK;
}

static void gt_flow_check_release(struct gt_flow_check *check)
{
	free(check->pair);
	free(check->seen);
}

int gt_check_flow(const struct gt_plan *plan, uint32_t index,
		  struct gt_err *err)
{
	uint32_t npaths = plan->channels[index].npaths;
	struct gt_flow_check check = {0};
	int rc = GT_OK;

	if (npaths > GT_FLOW_MAX_PATHS || plan->nranks > GT_FLOW_MAX_RANKS)
		return gt_plan_wrong(
			plan, gt_plan_at("channels[%u].paths", index), err,
			"there are %u for %u ranks, of up to %d for %d", npaths,
			plan->nranks, GT_FLOW_MAX_PATHS, GT_FLOW_MAX_RANKS);
	if (gt_flow_check_init(&check, plan, index))
		rc = gt_err_nomem(err);
	for (uint32_t p = 0; !rc && p < npaths; p++) {
		rc = gt_check_path_ranks(&check, p, err);
		if (!rc)
			rc = gt_check_path_hops(&check, p, err);
	}
	gt_flow_check_release(&check);
	return rc;
}

int gt_check_flow_use(const struct gt_use_check *use, uint32_t i,
		      struct gt_err *err)
{
	const struct gt_plan *plan = use->plan;
	struct gt_flow_check check = {0};
	size_t n = plan->nranks;
	int rc = GT_OK;

	if (gt_flow_check_init(&check, plan, use->use->channels[i]))
		rc = gt_err_nomem(err);
	for (uint32_t p = 0; !rc && p < check.channel->npaths; p++) {
		const struct gt_plan_path *path = &check.channel->paths[p];

		*gt_flow_pair(&check, path->ranks[0],
			      path->ranks[path->nranks - 1]) |= GT_PAIR_PATH;
	}
	for (uint32_t k = 0; !rc && k < n * n; k++)
		if (!check.pair[k] &&
		    gt_plan_pair_units(plan, use->use->coll, (uint32_t)(k / n),
				       (uint32_t)(k % n)))
			rc = gt_plan_wrong(plan,
					   gt_plan_at("%s[%u].channels[%u]",
						      use->list, use->index, i),
					   err,
					   "channel '%u' has neither a hop nor "
					   "a path from %u to %u",
					   check.channel->id, (uint32_t)(k / n),
					   (uint32_t)(k % n));
	gt_flow_check_release(&check);
	return rc;
}
