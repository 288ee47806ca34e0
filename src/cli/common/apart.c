/* Looks up ranks by their bus ids. */
#include "cli/common/apart.h"

#include <string.h>

#include "plan/ir/plan.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

uint32_t gt_apart_gpu(const struct gt_topo *topo, const struct gt_plan *plan,
		      uint32_t rank)
{
	const char *device = plan->ranks[rank].device;

	for (uint32_t i = 0; device && i < gt_topo_ngpus(topo); i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, gt_topo_gpu(topo, i));

		if (gpu->bus_id && !strcmp(gpu->bus_id, device))
			return i;
	}
	return GT_NONE;
}

uint32_t gt_apart_pairs(const struct gt_topo *topo, const struct gt_plan *plan)
{
	uint32_t n = 0;

	for (uint32_t a = 0; a < plan->nranks; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t i = gt_apart_gpu(topo, plan, a);
			uint32_t j = gt_apart_gpu(topo, plan, b);

			n += i != GT_NONE && j != GT_NONE &&
			     (!gt_topo_may_access(topo, i, j) ||
			      !gt_topo_may_access(topo, j, i));
		}
	return n;
}
