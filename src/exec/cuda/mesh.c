/*
 * A row that no plan has to name: all pairs of ranks exchange their blocks
 * through FIFOs in the host's memory, where GPUs do not reach each other.  Its
 * programs follow from the collective alone.
 */
#include "exec/cuda/fifos.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "kernels/kernels.h"

enum {
	/*
	 * A worker has a FIFO from each other rank.  More of all workers
	 * together would pin more than the rings of all collectives do.
	 */
	GT_MESH_FIFOS = 16,
};

/* Everything that a mesh adds to a copy of the plan. */
struct gt_cuda_mesh {
	struct gt_plan plan;
	struct gt_plan_select row;
	uint32_t channels[1];
};

static void gt_mesh_add(const struct gt_plan *plan,
			struct gt_plan_channel *channels,
			struct gt_cuda_mesh *mesh)
{
	uint32_t n = plan->nchannels, id = 0;

	memcpy(channels, plan->channels, n * sizeof(*channels));
	for (uint32_t i = 0; i < n; i++)
		if (channels[i].id >= id)
			id = channels[i].id + 1;
	channels[n] = (struct gt_plan_channel){.id = id,
					       .shape = GT_SHAPE_MESH,
					       .share = GT_RAT(1, 1),
					       .gbs = GT_RAT(1, 1)};
	mesh->channels[0] = n;
	mesh->row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
					    .coll = GT_COLL_ALLTOALL,
					    .algo = GT_ALGO_ONE_SHOT,
					    .protocol = GT_PROTOCOL_SIMPLE,
					    .workers = GT_MESH_FIFOS /
						       (plan->nranks - 1),
					    .nchannels = 1,
					    .channels = mesh->channels};
	mesh->plan = *plan;
	mesh->plan.channels = channels;
	mesh->plan.nchannels = n + 1;
}

int gt_cuda_mesh_open(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	struct gt_plan_channel *channels;
	struct gt_cuda_mesh *mesh;

	/* Who asks for the plan's rows gets no other one. */
	if (!engine->stages_in_host || plan->nranks < 2 ||
	    plan->nchannels >= GT_KERNEL_CHANNELS ||
	    !(engine->config.best || engine->config.overlap))
		return GT_OK;
	channels = gt_arena_array(engine->arena, (size_t)plan->nchannels + 1,
				  sizeof(*channels));
	mesh = gt_arena_array(engine->arena, 1, sizeof(*mesh));
	if (!channels || !mesh)
		return gt_err_nomem(err);
	gt_mesh_add(plan, channels, mesh);
	engine->plan = &mesh->plan;
	engine->mesh_row = &mesh->row;
	return GT_OK;
}
