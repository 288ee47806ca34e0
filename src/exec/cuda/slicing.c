/*
 * Cuts requests into slices: chooses how many workers, slots and bytes of a
 * slice the FIFOs have room for, which of them a request takes, and where its
 * slices lie.
 */
#include "exec/cuda/fifos.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "plan/ir/plan.h"
#include "plan/lower/layout.h"
#include "plan/lower/lower.h"

/*
 * Measured on 4 and 2 H200 behind NVSwitch, one ring: 128 KiB slices in turns
 * of two are as fast as longer ones; 512 threads beat 256 by 2 %.  A part
 * should make a whole turn: at 16 MiB, 16 KiB slices two a part are 6 to 9 %
 * faster than one of 32 KiB.
 */
enum {
	GT_CUDA_THREADS = 512,
	GT_CUDA_TURN = 2,
	GT_CUDA_SLOTS = 8,
	GT_CUDA_SLICE_BYTES = 131072,
	/* Below this, a worker's part is not worth a block of its own. */
	GT_CUDA_PART_BYTES = 16384,
	GT_CUDA_GRAIN_BYTES = 4096, /* slices are multiples of it */
};

/*
 * Blocks of channels that a row does not use end at once, so they need no
 * multiprocessor: the row that needs most workers counts.
 */
static int gt_choose_workers(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	uint32_t given = engine->config.workers, n = 1, lanes = 1;
	uint32_t most = gt_cuda_blocks_allowed(engine, 0);

	if (plan->nchannels > GT_KERNEL_CHANNELS)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the plan has %u channels, GPUs run %d",
				  plan->nchannels, GT_KERNEL_CHANNELS);
	if (given > most)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u workers of a channel need as many blocks "
				  "at once, %s %u",
				  given,
				  most < engine->processors
					  ? "max_blocks is"
					  : "the GPU has multiprocessors for",
				  most);
	for (uint32_t i = 0; i < gt_cuda_nrows(engine); i++) {
		const struct gt_plan_select *row = gt_cuda_row(engine, i);
		uint32_t workers = gt_cuda_row_workers_most(engine, row);

		if (gt_cuda_row_lanes(engine, row, row->coll) > lanes)
			lanes = gt_cuda_row_lanes(engine, row, row->coll);
		if (workers > n)
			n = workers;
	}
	engine->max_slicing.workers = given ? given : n;
	engine->nblocks = lanes * engine->max_slicing.workers * plan->nchannels;
	if (engine->nblocks < engine->processors) /* of flows */
		engine->nblocks = engine->processors;
	engine->nblocks += GT_CUDA_DETOUR_REPORTS;
	return GT_OK;
}

/* The kernel wants a power of two; more slots than asked for do no harm. */
static uint32_t gt_slots_round(uint32_t slots)
{
	uint32_t n = 1;

	while (n < slots && n < 1u << 20)
		n *= 2;
	return n;
}

/*
 * A slot of the plan becomes `turn` slots, in which its slice is handed over
 * in pieces.  What the simulator proved for whole slots then holds: waiting
 * for a piece is never more than waiting for all of them.
 */
static void gt_choose_fifo(struct gt_engine *engine)
{
	const struct gt_engine_config *config = &engine->config;
	const struct gt_plan *plan = engine->plan;
	uint32_t slots = config->slots ? config->slots : plan->fifo_slots;
	uint32_t most = GT_CUDA_SLICE_BYTES;

	if (!slots)
		slots = GT_CUDA_SLOTS;
	engine->max_slicing.turn = config->turn ? config->turn : GT_CUDA_TURN;
	engine->nslots = gt_slots_round(slots * engine->max_slicing.turn);
	if (plan->fifo_slice_bytes &&
	    plan->fifo_slice_bytes / engine->max_slicing.turn < most)
		most = plan->fifo_slice_bytes / engine->max_slicing.turn;
	if (most < 16)
		most = 16;
	engine->max_slicing.slice_bytes =
		config->slice_bytes ? config->slice_bytes : most;
	engine->slot_pitch =
		(engine->max_slicing.slice_bytes + GT_KERNEL_SLOT_EXTRA) /
		GT_KERNEL_SLOT_ALIGN * GT_KERNEL_SLOT_ALIGN;
}

int gt_cuda_sizes_choose(struct gt_engine *engine, struct gt_err *err)
{
	uint32_t threads = engine->config.threads;

	if (threads > GT_KERNEL_MAX_THREADS || threads % 32)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u threads are not a multiple of 32 up to "
				  "%d",
				  threads, GT_KERNEL_MAX_THREADS);
	engine->threads = threads ? threads : GT_CUDA_THREADS;
	engine->has_128b_stores =
		!engine->stages_in_host && gt_plan_allows_ll128(engine->plan);
	gt_choose_fifo(engine);
	return gt_choose_workers(engine, err);
}

/*
 * Cut a worker's part into the slices of a turn, but not below what is worth a
 * slice.
 */
static uint32_t gt_slicing_bytes(uint64_t part,
				 const struct gt_cuda_slicing *most)
{
	uint64_t slice = (part + most->turn - 1) / most->turn;

	if (slice < GT_CUDA_PART_BYTES)
		slice = GT_CUDA_PART_BYTES;
	slice = (slice + GT_CUDA_GRAIN_BYTES - 1) / GT_CUDA_GRAIN_BYTES *
		GT_CUDA_GRAIN_BYTES;
	return slice < most->slice_bytes ? (uint32_t)slice : most->slice_bytes;
}

/* How many blocks may the row have for the request that runs? */
static uint32_t gt_slicing_blocks(const struct gt_engine *engine,
				  const struct gt_plan_select *row)
{
	uint32_t most = gt_cuda_row_blocks(engine, row);

	return engine->choice.max_blocks < most ? engine->choice.max_blocks
						: most;
}

/*
 * Take as many workers as have something to do, and slices that make a turn of
 * each worker's part.
 */
static struct gt_cuda_slicing gt_slicing_of(const struct gt_engine *engine,
					    const struct gt_exec_request *req)
{
	const struct gt_plan *plan = engine->plan;
	struct gt_cuda_slicing cut = engine->max_slicing;
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);
	const struct gt_channel_use use = {req->coll, row->algo, req->root};
	uint64_t chunk = req->count * gt_dtype_bytes(req->dtype);
	uint32_t n = gt_layout_nchunks(plan, engine->channels[0], &use);

	chunk /= gt_coll_has_blocks(req->coll) ? n / plan->nranks : n;
	chunk /= engine->nchannels;
	if (!engine->config.workers) {
		cut.workers = gt_cuda_row_workers(
			engine, row, req->coll, gt_slicing_blocks(engine, row));
		if (chunk / GT_CUDA_PART_BYTES < cut.workers)
			cut.workers = (uint32_t)(chunk / GT_CUDA_PART_BYTES);
		if (!cut.workers)
			cut.workers = 1;
	}
	if (!engine->config.slice_bytes)
		cut.slice_bytes = gt_slicing_bytes(chunk / cut.workers, &cut);
	return cut;
}

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

int gt_cuda_kernels_load_all(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	for (int dtype = 0; !rc && engine->connected && dtype < GT_NDTYPES;
	     dtype++)
		rc = gt_kernels_load(engine, (enum gt_dtype)dtype, err);
	return rc;
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
	if (gt_plan_blocks_differ(engine->plan, args->use.coll))
		return gt_cuda_demand_layouts(engine, args, err);
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
	uint32_t most = gt_slicing_blocks(engine, row);
	int rc = gt_cuda_row_fits(engine, row, req->coll, most, err);

	if (!rc)
		rc = gt_cuda_connect(engine, req->coll, err);
	if (rc)
		return rc;
	engine->nchannels = gt_cuda_row_channels(engine, row, req->coll, most);
	memcpy(engine->channels, row->channels,
	       engine->nchannels * sizeof(*engine->channels));
	engine->nlanes = engine->ranks[0].programs[req->coll].nlanes;
	engine->slicing = gt_slicing_of(engine, req);
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
