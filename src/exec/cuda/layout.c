/*
 * Sets what the interpreter is launched with for a request: which channels carry
 * it, in slices of how many bytes, and where those lie.
 */
#include "exec/cuda/layout.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/connect.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/row.h"
#include "exec/cuda/sizing.h"
#include "plan/lower/layout.h"

static int gt_kernels_load(struct gt_engine *engine, enum gt_dtype dtype,
			   struct gt_err *err)
{
	cudaError_t rc;

	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		rc = (cudaError_t)gt_kernel_prepare(dtype,
						    engine->shared_bytes);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "load the kernels", err);
	}
	engine->loaded_dtypes |= 1u << dtype;
	return GT_OK;
}

/*
 * Set the layouts of the selected channels; the others have no loops and do
 * nothing.
 */
static int gt_layouts_set(struct gt_engine *engine,
			  const struct gt_layout_args *args, struct gt_err *err)
{
	int rc = GT_OK;

	memset(engine->layouts, 0, sizeof(engine->layouts));
	for (uint32_t i = 0; !rc && i < engine->nchannels; i++)
		rc = gt_layout_init(engine->plan, engine->channels[i], args,
				    &engine->layouts[engine->channels[i]], err);
	return rc;
}

/* Make scratch for the selected channels: a slice for every place of a loop. */
static int gt_step_scratch_need(struct gt_engine *engine,
				const struct gt_exec_request *req,
				struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	uint64_t most = 0;

	for (uint32_t i = 0; i < engine->nchannels; i++) {
		const struct gt_layout *at =
			&engine->layouts[engine->channels[i]];
		uint64_t slices = (uint64_t)at->nworkers * at->loops *
				  plan->channels[engine->channels[i]].nscratch;

		if (slices > most)
			most = slices;
	}
	engine->step_scratch_bytes = most * engine->slot_pitch;
	return gt_cuda_region_grow(engine, GT_CUDA_STEP_SCRATCH,
				   engine->step_scratch_bytes * plan->nchannels,
				   req, err);
}

int gt_cuda_layout_set(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);
	struct gt_layout_args args = {
		.use = {req->coll, row->algo, req->root},
		.count = req->count,
		.elem_bytes = (uint32_t)gt_dtype_bytes(req->dtype),
	};
	int rc = gt_cuda_connect(engine, req->coll, err);

	if (rc)
		return rc;
	engine->nchannels = row->nchannels;
	memcpy(engine->channels, row->channels,
	       row->nchannels * sizeof(*engine->channels));
	engine->nlanes = engine->ranks[0].programs[req->coll].nlanes;
	engine->slicing = gt_cuda_slicing_of(engine, req);
	args.slice_bytes = engine->slicing.slice_bytes;
	args.nworkers = engine->slicing.workers;
	args.nsel = engine->nchannels;
	args.sel = engine->channels;
	if (!(engine->loaded_dtypes & 1u << req->dtype))
		rc = gt_kernels_load(engine, req->dtype, err);
	if (!rc)
		rc = gt_layouts_set(engine, &args, err);
	return rc ? rc : gt_step_scratch_need(engine, req, err);
}
