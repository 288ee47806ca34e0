/* Launches the kernel that multiplies a rank's input by its scalar. */
#include "exec/cuda/p2p/premul.h"

#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/span.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/memory.h"

enum {
	GT_PREMUL_BLOCKS = 128,
	GT_PREMUL_LEAST_BYTES = 1 << 20,
};

static uint64_t gt_premul_bytes(const struct gt_engine *engine,
				const struct gt_exec_request *req)
{
	uint64_t blocks =
		gt_coll_has_blocks(req->coll) ? engine->plan->nranks : 1;

	uint64_t bytes = req->count * blocks * gt_dtype_bytes(req->dtype) +
			 GT_PREMUL_EDGE_BYTES;

	return bytes > GT_PREMUL_LEAST_BYTES ? bytes : GT_PREMUL_LEAST_BYTES;
}

int gt_cuda_premul_need(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err)
{
	int rc = gt_cuda_p2p_load(engine, req->dtype, err);

	return rc ? rc
		  : gt_cuda_region_grow(engine, GT_CUDA_PREMUL,
					gt_premul_bytes(engine, req), req, err);
}

int gt_cuda_premul_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	const struct gt_premul_args args = {
		.from = span.input,
		.to = gt_cuda_premul_input(engine, span.input, rank, rank),
		.count = span.input_count,
		.by = req->scalars ? req->scalars[rank]
				   : gt_pattern_scalar(req->dtype, rank)};
	uint64_t packs = args.count * gt_dtype_bytes(req->dtype) / 16;
	uint64_t blocks = packs / GT_PREMUL_THREADS + 1;
	const struct gt_kernel_grid grid = {
		.dtype = req->dtype,
		.blocks = blocks < GT_PREMUL_BLOCKS ? (uint32_t)blocks
						    : GT_PREMUL_BLOCKS,
		.threads = GT_PREMUL_THREADS,
		/* Its blocks are more than ranks that share have room for. */
		.overlaps = !engine->sharers,
		.stream = engine->ranks[rank].stream};

	return args.count ? gt_premul_run(&grid, &args) : 0;
}
