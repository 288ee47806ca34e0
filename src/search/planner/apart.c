/* Makes a machine what engines make of it. */
#include "search/planner/apart.h"

#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* Returns the number of a GPU in order of dev. */
static uint32_t gt_apart_number(const struct gt_topo *topo, uint32_t gpu)
{
	uint32_t i = 0;

	while (gt_topo_gpu(topo, i) != gpu)
		i++;
	return i;
}

int gt_apart_as_engines(struct gt_topo *topo, const uint32_t *gpus, uint32_t n,
			uint32_t *apart, struct gt_err *err)
{
	uint32_t lack = 0;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t i = gt_apart_number(topo, gpus[a]);
			uint32_t j = gt_apart_number(topo, gpus[b]);

			lack += !gt_topo_may_access(topo, i, j) ||
				!gt_topo_may_access(topo, j, i);
		}
	*apart = 0;
	if (!lack || lack == n * (n - 1) / 2)
		return 0;
	*apart = lack;
	return gt_topo_part_gpus(topo, "off", err);
}
