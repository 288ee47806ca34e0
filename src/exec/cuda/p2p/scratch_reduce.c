/*
 * Launches a reduction through scratch, and finds where each rank's blocks lie
 * in the others' scratch.
 */
#include "exec/cuda/p2p/p2p.h"

#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "plan/ir/plan.h"

/*
 * Measured on H200: all-reduce of 16 MiB among 4 with 16 KiB for each other in
 * 78.5 us, 80.9 with 8, 80.2 with 32; among 2 with 16 in 54.7, with 64 in 54.0.
 * Reduce-scatter of 64 MiB among 2 with 16 in 107, with 32 in 110, with 48 in
 * 115.
 */
enum {
	GT_SCRATCH_REDUCE_SPREAD_BYTES =
		48 << 10,                   /* of its pieces for all others */
	GT_SCRATCH_REDUCE_BYTES = 16 << 10, /* of one, where sums stay */
	GT_SCRATCH_REDUCE_ROUNDS = GT_DIRECT_STAGES / 2,
};

/* How many bytes of scratch does the block of one rank take? */
static uint64_t gt_scratch_reduce_pitch(const struct gt_p2p *flow,
					size_t elem_bytes)
{
	uint64_t lines = flow->count * elem_bytes / GT_CUDA_LINE_BYTES;

	return (lines + 2) * GT_CUDA_LINE_BYTES;
}

uint64_t gt_scratch_reduce_bytes(const struct gt_engine *engine,
				 const struct gt_exec_request *req)
{
	struct gt_p2p flow =
		gt_cuda_p2p_of(engine, req, engine->choice.algo, 0);

	return gt_scratch_reduce_pitch(&flow, gt_dtype_bytes(req->dtype)) *
	       (flow.nranks - 1);
}

/*
 * Say where rank s puts its block in rank d's scratch: as far from a 16-byte
 * boundary as what it is added to.
 */
static char *gt_scratch_reduce_slot(const struct gt_engine *engine,
				    const struct gt_exec_request *req,
				    const struct gt_p2p *flow, uint32_t d,
				    uint32_t s)
{
	uint32_t n = flow->nranks;
	size_t elem_bytes = gt_dtype_bytes(req->dtype);
	uintptr_t input =
		(uintptr_t)gt_cuda_span_of(engine, req, flow->me, d).input +
		d * flow->in_stride * elem_bytes;

	return gt_cuda_region_at(engine, GT_CUDA_SCRATCH, flow->me, d) +
	       ((s + n - d) % n - 1) *
		       gt_scratch_reduce_pitch(flow, elem_bytes) +
	       (input & 15);
}

/* Pieces are alike, and there is one for every thread block in each round. */
uint64_t gt_scratch_reduce_piece(const struct gt_p2p *flow, uint32_t blocks,
				 size_t elem_bytes)
{
	uint64_t line = GT_CUDA_LINE_BYTES / elem_bytes;
	uint64_t others = flow->nranks > 1 ? flow->nranks - 1 : 1;
	uint64_t most = flow->flags & GT_P2P_SPREAD
				? GT_SCRATCH_REDUCE_SPREAD_BYTES / others
				: GT_SCRATCH_REDUCE_BYTES;
	uint64_t rounds, piece;

	most = most / elem_bytes * blocks;
	rounds = (flow->count + most - 1) / most;
	if (rounds > GT_SCRATCH_REDUCE_ROUNDS)
		rounds = GT_SCRATCH_REDUCE_ROUNDS;
	piece = (flow->count + rounds * blocks - 1) / (rounds * blocks);
	return (piece + line - 1) / line * line;
}

int gt_scratch_reduce_launch(const struct gt_engine *engine,
			     const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_kernel_grid grid = gt_cuda_p2p_grid(engine, req, rank);
	struct gt_scratch_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.flow = gt_cuda_p2p_of(engine, req, engine->choice.algo, rank),
		.input = gt_cuda_span_of(engine, req, rank, rank).input};

	args.guard.marks = gt_cuda_trace_kernel(engine, rank);
	for (uint32_t r = 0; r < args.flow.nranks; r++) {
		args.output[r] = gt_cuda_span_of(engine, req, rank, r).output;
		args.flags[r] = gt_cuda_p2p_flags(engine, rank, r);
		if (r == rank)
			continue;
		args.theirs[r] = gt_scratch_reduce_slot(engine, req, &args.flow,
							r, rank);
		args.mine[r] = gt_scratch_reduce_slot(engine, req, &args.flow,
						      rank, r);
	}
	args.piece = gt_scratch_reduce_piece(&args.flow, grid.blocks,
					     gt_dtype_bytes(req->dtype));
	grid.threads = GT_DIRECT_THREADS; /* the kernel halves them */
	return gt_scratch_run(&grid, &args);
}
