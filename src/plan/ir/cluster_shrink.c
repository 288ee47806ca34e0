/* A cluster's plan on fewer nodes: its levels are copied and made narrower. */
#include "plan/ir/cluster_shrink.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"

uint32_t gt_cluster_widest(const struct gt_plan_cluster *cluster)
{
	uint32_t widest = 0;

	for (uint32_t i = 1; i < cluster->nlevels; i++)
		if (gt_nodes_radix(cluster, i) >
		    gt_nodes_radix(cluster, widest))
			widest = i;
	return widest;
}

static int shrunk_copy(struct gt_plan_shrunk *shrunk,
		       const struct gt_plan *plan, struct gt_arena *arena)
{
	struct gt_plan_cluster *to = &shrunk->cluster;

	*to = *plan->cluster;
	to->levels = gt_arena_array(arena, to->nlevels, sizeof(*to->levels));
	if (!to->levels)
		return GT_ESYS;
	memcpy(to->levels, plan->cluster->levels,
	       to->nlevels * sizeof(*to->levels));
	return GT_OK;
}

static void shrunk_finish(struct gt_plan_shrunk *shrunk,
			  const struct gt_plan *plan)
{
	shrunk->plan = *plan;
	shrunk->plan.cluster = &shrunk->cluster;
	shrunk->plan.nranks = shrunk->cluster.nnodes * shrunk->cluster.nlocal;
	/* The root stays on a node of even or odd number, as it was. */
	shrunk->plan.root %= 2 * shrunk->cluster.nlocal;
}

int gt_plan_shrink(struct gt_plan_shrunk *shrunk, const struct gt_plan *plan,
		   uint32_t nodes, struct gt_arena *arena)
{
	struct gt_plan_cluster *to = &shrunk->cluster;

	if (shrunk_copy(shrunk, plan, arena))
		return GT_ESYS;
	while ((to->nnodes > nodes || to->nnodes % 2) && to->nnodes > 2) {
		uint32_t level = gt_cluster_widest(to);

		gt_nodes_resize(to, level, gt_nodes_radix(to, level) - 1);
	}
	shrunk_finish(shrunk, plan);
	return GT_OK;
}

int gt_plan_shrink_levels(struct gt_plan_shrunk *shrunk,
			  const struct gt_plan *plan, uint32_t widest,
			  struct gt_arena *arena)
{
	struct gt_plan_cluster *to = &shrunk->cluster;
	uint32_t wide = gt_cluster_widest(plan->cluster);

	if (shrunk_copy(shrunk, plan, arena))
		return GT_ESYS;
	for (uint32_t l = 0; l < to->nlevels; l++) {
		uint32_t radix = l == wide ? widest : 2;

		if (gt_nodes_radix(to, l) > radix)
			gt_nodes_resize(to, l, radix);
	}
	shrunk_finish(shrunk, plan);
	return GT_OK;
}
