#include "exec/cuda_engine.h"

#include "base/err.h"
#include "plan/plan.h"

/*
 * Measured on 4 and 2 H200 behind NVSwitch, one ring: more workers are faster
 * up to nearly all multiprocessors (all-reduce of 1 GiB: 335 GB/s with 32, 362
 * with 96, 366 with 128); 128 KiB slices in turns of two are as fast as longer
 * ones; 512 threads beat 256 by 2 %.  A part should make a whole turn: at 16
 * MiB, 16 KiB slices two a part are 6 to 9 % faster than one of 32 KiB.
 */
enum {
	GT_CUDA_WORKERS = 128, /* of all channels */
	GT_CUDA_THREADS = 512,
	GT_CUDA_TURN = 2,
	GT_CUDA_SLOTS = 8,
	GT_CUDA_SLICE_BYTES = 131072,
	/* Below this, a worker's part is not worth a block of its own. */
	GT_CUDA_PART_BYTES = 16384,
	GT_CUDA_GRAIN_BYTES = 4096, /* slices are multiples of it */
};

/* The plan's word on workers per channel: the largest of its selections. */
static uint32_t gt_plan_workers(const struct gt_plan *plan)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].workers > most)
			most = plan->select[i].workers;
	return most ? most : UINT32_MAX;
}

static int gt_choose_workers(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	uint32_t most = engine->processors / plan->nchannels;
	uint32_t n = GT_CUDA_WORKERS / plan->nchannels;

	if (engine->config.workers > most || !most)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u channels of %u workers need as many "
				  "multiprocessors at once, the GPU has %u",
				  plan->nchannels,
				  most ? engine->config.workers : 1,
				  engine->processors);
	if (n > gt_plan_workers(plan))
		n = gt_plan_workers(plan);
	if (n > most)
		n = most;
	if (!n)
		n = 1;
	engine->most.workers =
		engine->config.workers ? engine->config.workers : n;
	engine->nblocks = engine->most.workers * plan->nchannels;
	if (engine->nblocks < engine->processors) /* of flows */
		engine->nblocks = engine->processors;
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
	engine->most.turn = config->turn ? config->turn : GT_CUDA_TURN;
	engine->nslots = gt_slots_round(slots * engine->most.turn);
	if (plan->fifo_slice_bytes &&
	    plan->fifo_slice_bytes / engine->most.turn < most)
		most = plan->fifo_slice_bytes / engine->most.turn;
	if (most < 16)
		most = 16;
	engine->most.slice_bytes =
		config->slice_bytes ? config->slice_bytes : most;
	engine->slot_pitch = (engine->most.slice_bytes + GT_KERNEL_SLOT_EXTRA) /
			     GT_KERNEL_SLOT_ALIGN * GT_KERNEL_SLOT_ALIGN;
}

int gt_cuda_choose(struct gt_engine *engine, struct gt_err *err)
{
	uint32_t threads = engine->config.threads;

	if (threads > GT_KERNEL_MAX_THREADS || threads % 32)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%u threads are not a multiple of 32 up to "
				  "%d",
				  threads, GT_KERNEL_MAX_THREADS);
	engine->threads = threads ? threads : GT_CUDA_THREADS;
	gt_choose_fifo(engine);
	return gt_choose_workers(engine, err);
}

/* What makes a turn of a part, not below what is worth a slice. */
static uint32_t gt_slice_of(uint64_t part, const struct gt_cuda_cut *most)
{
	uint64_t slice = (part + most->turn - 1) / most->turn;

	if (slice < GT_CUDA_PART_BYTES)
		slice = GT_CUDA_PART_BYTES;
	slice = (slice + GT_CUDA_GRAIN_BYTES - 1) / GT_CUDA_GRAIN_BYTES *
		GT_CUDA_GRAIN_BYTES;
	return slice < most->slice_bytes ? (uint32_t)slice : most->slice_bytes;
}

/* As many workers as have something to do, slices that make a turn of each. */
struct gt_cuda_cut gt_cuda_cut_of(const struct gt_engine *engine,
				  const struct gt_request *req)
{
	const struct gt_plan *plan = engine->plan;
	struct gt_cuda_cut cut = engine->most;
	uint64_t chunk = req->count * gt_dtype_bytes(req->dtype);

	if (req->coll == GT_COLL_ALLREDUCE)
		chunk /= plan->nranks;
	chunk /= engine->nsel;
	if (!engine->config.workers) {
		if (chunk / GT_CUDA_PART_BYTES < cut.workers)
			cut.workers = (uint32_t)(chunk / GT_CUDA_PART_BYTES);
		if (!cut.workers)
			cut.workers = 1;
	}
	if (!engine->config.slice_bytes)
		cut.slice_bytes = gt_slice_of(chunk / cut.workers, &cut);
	return cut;
}
