/* Turns the hops of a plan's channels into arrows of a drawing. */
#include "cli/show/plan.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "topo/view/dot.h"
#include "topo/graph/topo.h"

/* Find the GPU of every rank, as a node of the topology. */
static int gt_show_plan_ranks(const struct gt_plan *plan,
			      const struct gt_topo *topo, uint32_t *gpus,
			      struct gt_err *err)
{
	for (uint32_t rank = 0; rank < plan->nranks; rank++) {
		const char *device = plan->ranks[rank].device;

		gpus[rank] = GT_NONE;
		for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
			uint32_t gpu = gt_topo_gpu(topo, i);

			if (!strcmp(gt_topo_node(topo, gpu)->bus_id, device))
				gpus[rank] = gpu;
		}
		if (gpus[rank] == GT_NONE)
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "the GPU '%s' of rank %u is not in "
					  "'%s'",
					  device, rank, gt_topo_source(topo));
	}
	return GT_OK;
}

static int gt_show_plan_arrows(const struct gt_plan *plan, const uint32_t *gpus,
			       struct gt_arena *arena,
			       struct gt_dot_overlay *overlay)
{
	const char **groups =
		gt_arena_array(arena, plan->nchannels, sizeof(*groups));
	struct gt_dot_arrow *arrows;
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		n += plan->channels[i].nhops;
	arrows = gt_arena_array(arena, n, sizeof(*arrows));
	if (!groups || !arrows)
		return 0;
	n = 0;
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		groups[i] = gt_arena_printf(
			arena, "channel %u: %s\n%.4g GB/s busbw", channel->id,
			gt_shape_name(channel->shape),
			gt_plan_channel_busbw(plan, i));
		if (!groups[i])
			return 0;
		for (uint32_t hop = 0; hop < channel->nhops; hop++)
			arrows[n++] = (struct gt_dot_arrow){
				.from = gpus[channel->hops[hop].from],
				.to = gpus[channel->hops[hop].to],
				.group = i};
	}
	*overlay = (struct gt_dot_overlay){.arrows = arrows,
					   .narrows = n,
					   .groups = groups,
					   .ngroups = plan->nchannels};
	return 1;
}

int gt_show_plan_overlay(const char *path, const struct gt_topo *topo,
			 struct gt_arena *arena, struct gt_dot_overlay *overlay,
			 struct gt_err *err)
{
	struct gt_plan *plan;
	uint32_t *gpus;
	int rc = gt_plan_read(path, &plan, err);

	if (rc)
		return rc;
	gpus = gt_arena_array(arena, plan->nranks, sizeof(*gpus));
	rc = gpus ? gt_show_plan_ranks(plan, topo, gpus, err)
		  : gt_err_nomem(err);
	if (!rc && !gt_show_plan_arrows(plan, gpus, arena, overlay))
		rc = gt_err_nomem(err);
	gt_plan_free(plan);
	return rc;
}
