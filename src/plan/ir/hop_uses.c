/*
 * How often each hop of a channel is taken: the pairs of ranks of a flow are
 * counted along their paths.
 */
#include "plan/ir/hop_uses.h"

#include <stdlib.h>

#include "base/err.h"
#include "plan/ir/plan.h"

/* The hops by pair of ranks: at[from * n + to] is the hop, or UINT32_MAX. */
static uint32_t *gt_uses_index(const struct gt_plan_channel *channel,
			       uint32_t n)
{
	uint32_t *at = malloc(sizeof(*at) * n * n);

	for (size_t i = 0; at && i < (size_t)n * n; i++)
		at[i] = UINT32_MAX;
	for (uint32_t i = 0; at && i < channel->nhops; i++)
		at[(size_t)channel->hops[i].from * n + channel->hops[i].to] = i;
	return at;
}

static void gt_uses_path(const struct gt_plan_path *path, const uint32_t *at,
			 uint32_t n, uint32_t units, uint32_t *uses)
{
	uint32_t direct =
		at[(size_t)path->ranks[0] * n + path->ranks[path->nranks - 1]];

	if (direct != UINT32_MAX)
		uses[direct] -= units;
	for (uint32_t k = 0; k + 1 < path->nranks; k++)
		uses[at[(size_t)path->ranks[k] * n + path->ranks[k + 1]]] +=
			units;
}

int gt_plan_hop_uses(const struct gt_plan *plan,
		     const struct gt_plan_select *row,
		     const struct gt_plan_channel *channel, uint32_t *uses)
{
	uint32_t n = plan->nranks, *at;
	int moves = gt_coll_only_moves(row->coll);

	for (uint32_t i = 0; i < channel->nhops; i++)
		uses[i] = moves ? gt_plan_pair_units(plan, row->coll,
						     channel->hops[i].from,
						     channel->hops[i].to)
				: 1;
	if (channel->shape != GT_SHAPE_FLOW || !moves)
		return GT_OK;
	at = gt_uses_index(channel, n);
	if (!at)
		return GT_ESYS;
	for (uint32_t i = 0; i < channel->npaths; i++) {
		const struct gt_plan_path *path = &channel->paths[i];

		gt_uses_path(path, at, n,
			     gt_plan_pair_units(plan, row->coll, path->ranks[0],
						path->ranks[path->nranks - 1]),
			     uses);
	}
	free(at);
	return GT_OK;
}
