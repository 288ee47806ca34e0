/*
 * Launches a rank's kernel of a request as packets or by direct stores and
 * loads, and what goes before: the copy or the multiplication of its input, a
 * barrier.
 */
#include "exec/cuda/p2p/p2p.h"

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "exec/cuda/p2p/detour.h"
#include "plan/ir/plan.h"

enum {
	GT_PREMUL_BLOCKS = 128,
	GT_PREMUL_LEAST_BYTES = 1 << 20,
};

struct gt_kernel_grid gt_cuda_p2p_grid(const struct gt_engine *engine,
				       const struct gt_exec_request *req,
				       uint32_t rank)
{
	return (struct gt_kernel_grid){
		.dtype = req->dtype,
		.op = req->op,
		.blocks = engine->choice.blocks,
		.threads = engine->choice.threads,
		/* Not early where it forks. */
		.overlaps =
			!gt_cuda_takes_detour(engine, req) &&
			gt_cuda_may_overlap(engine, engine->choice.max_blocks),
		.stream = engine->ranks[rank].stream};
}

static struct gt_packet_args gt_packet_args_of(
	const struct gt_engine *engine, const struct gt_exec_request *req,
	uint32_t rank)
{
	int ll128 = engine->choice.protocol == GT_PROTOCOL_LL128;
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	struct gt_packet_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.part = {.flow = gt_cuda_p2p_of(engine, req,
						engine->choice.algo, rank),
			 .input = span.input,
			 .output = span.output,
			 .part_bytes = gt_cuda_ll_part_bytes(ll128),
			 .box_bytes = gt_cuda_ll_buffer_bytes(ll128)}};

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.ll_buffer[r] =
			gt_cuda_ll_buffer_at(engine, rank, r, ll128);
	args.guard.marks = gt_cuda_trace_kernel(engine, rank);
	return args;
}

static int gt_packets_launch(const struct gt_engine *engine,
			     const struct gt_exec_request *req, uint32_t rank)
{
	const struct gt_kernel_grid grid = gt_cuda_p2p_grid(engine, req, rank);
	struct gt_packet_args args = gt_packet_args_of(engine, req, rank);
	int ll128 = engine->choice.protocol == GT_PROTOCOL_LL128;
	/* Of parts the first is watched, as its number is known. */
	int rc = req->part_first
			 ? 0
			 : gt_cuda_trace_packets(engine, rank, ll128, &args);

	return rc ? rc : gt_packet_run(&grid, ll128, &args);
}

/*
 * A part has so many elements of every block.  Two shots have slices of a part;
 * those of a full part fill the room, which is whole lines.
 */
static uint64_t gt_packets_part(const struct gt_engine *engine,
				const struct gt_exec_request *req,
				uint64_t first, struct gt_exec_request *part)
{
	uint64_t left = req->count - first, most;
	struct gt_p2p flow;

	*part = *req;
	if (gt_cuda_p2p_fits(engine, req, &engine->choice))
		return req->count;
	flow = gt_cuda_p2p_of(engine, req, engine->choice.algo, 0);
	most = gt_cuda_p2p_room(engine, req, &engine->choice) /
	       gt_dtype_bytes(req->dtype);
	if (flow.flags & GT_P2P_SPREAD)
		most *= (uint32_t)__builtin_popcount(flow.via);
	part->part_first = first;
	part->part_count = left < most ? left : most;
	return first + part->part_count;
}

int gt_cuda_packets_launch(const struct gt_engine *engine,
			   const struct gt_exec_request *req, uint32_t first,
			   uint32_t end)
{
	struct gt_exec_request part;
	uint64_t at = 0;
	int rc = 0;

	while (!rc && at < req->count) {
		at = gt_packets_part(engine, req, at, &part);
		for (uint32_t r = first; !rc && r < end; r++) {
			if (end - first > 1)
				rc = (int)cudaSetDevice(
					engine->ranks[r].device);
			if (!rc)
				rc = gt_packets_launch(engine, &part, r);
		}
	}
	return rc;
}

int gt_cuda_input_launch(const struct gt_engine *engine,
			 const struct gt_exec_request *req, uint32_t rank)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	/* A part of each block begins in the first, and ends before the end. */
	uint64_t count = span.input_count - req->part_first;

	return (int)cudaMemcpyAsync(
		gt_cuda_region_at(engine, GT_CUDA_SCRATCH, rank, rank),
		span.input, count * gt_dtype_bytes(req->dtype),
		cudaMemcpyDeviceToDevice, me->stream);
}

/*
 * So many thread blocks keep a rank's own block, where that is another one than
 * goes to the others, that they are done with it before those are.
 */
static uint32_t gt_p2p_keepers(const struct gt_engine *engine,
			       const struct gt_exec_request *req)
{
	if (req->coll != GT_COLL_ALLTOALL && req->coll != GT_COLL_SCATTER)
		return 0;
	return engine->choice.blocks * 3 / (8 * engine->plan->nranks);
}

struct gt_direct_args gt_cuda_direct_args(const struct gt_engine *engine,
					  const struct gt_exec_request *req,
					  uint32_t rank)
{
	struct gt_direct_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.flow = gt_cuda_p2p_of(engine, req, engine->choice.algo, rank),
		.begin_post = 1,
		.begin_wait = 1,
		.moves = 1,
		.end_post = 2,
		.end_wait = 2,
		.last = 1,
		.keepers = gt_p2p_keepers(engine, req)};

	args.guard.marks = gt_cuda_trace_kernel(engine, rank);
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_cuda_span span =
			gt_cuda_span_of(engine, req, rank, r);

		args.input[r] = span.input;
		args.output[r] = span.output;
		args.flags[r] = gt_cuda_p2p_flags(engine, rank, r);
	}
	if (gt_cuda_p2p_overwrites(req))
		args.input[rank] =
			gt_cuda_region_at(engine, GT_CUDA_SCRATCH, rank, rank);
	/* A rooted reduction has one rank that pulls; the others serve. */
	if (req->coll == GT_COLL_REDUCE && !(args.flow.flags & GT_P2P_REDUCE))
		args.moves = 0;
	return args;
}

int gt_cuda_direct_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank)
{
	const struct gt_direct_args args =
		gt_cuda_direct_args(engine, req, rank);
	struct gt_kernel_grid grid = gt_cuda_p2p_grid(engine, req, rank);

	/* It waits for all of the copy of its input that is before it. */
	if (gt_cuda_p2p_overwrites(req))
		grid.overlaps = 0;
	return gt_direct_run(&grid, &args);
}

int gt_cuda_apart_launch(const struct gt_engine *engine,
			 const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_direct_args args = gt_cuda_direct_args(engine, req, rank);
	struct gt_kernel_grid grid = gt_cuda_p2p_grid(engine, req, rank);
	cudaStream_t stream = engine->ranks[rank].stream;
	uint32_t begin = args.begin_wait, end = args.end_wait;
	int rc = gt_cuda_barrier_launch(engine, rank, begin, 0, stream);

	/* Set up early it would hold processors while the barrier waits. */
	grid.overlaps = 0;
	args.begin_post = args.begin_wait = args.end_post = args.end_wait = 0;
	args.last = 0;
	if (!rc && args.moves &&
	    (args.flow.to || args.flow.flags & GT_P2P_REDUCE))
		rc = gt_direct_run(&grid, &args);
	return rc ? rc : gt_cuda_barrier_launch(engine, rank, end, 1, stream);
}

static struct gt_barrier_args gt_barrier_args_of(const struct gt_engine *engine,
						 uint32_t rank)
{
	struct gt_barrier_args args = {.guard = gt_cuda_guard_of(engine, rank),
				       .me = rank,
				       .nranks = engine->plan->nranks};

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.flags[r] = gt_cuda_p2p_flags(engine, rank, r);
	return args;
}

int gt_cuda_barrier_launch(const struct gt_engine *engine, uint32_t rank,
			   uint32_t stage, int last, cudaStream_t stream)
{
	struct gt_barrier_args args = gt_barrier_args_of(engine, rank);

	args.guard.marks = gt_cuda_trace_kernel(engine, rank);
	args.stage = stage;
	args.last = (uint32_t)last;
	return gt_barrier_run(&args, stream);
}

int gt_cuda_p2p_barrier(const struct gt_engine *engine, uint32_t rank)
{
	struct gt_barrier_args args = gt_barrier_args_of(engine, rank);

	/* Faults are for operations, not for barriers. */
	args.guard.fault = GT_KERNEL_FAULT_NONE;
	args.stage = args.last = 1;
	return gt_barrier_run(&args, engine->ranks[rank].stream);
}

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
	uint32_t most = engine->choice.max_blocks < GT_PREMUL_BLOCKS
				? engine->choice.max_blocks
				: GT_PREMUL_BLOCKS;
	const struct gt_kernel_grid grid = {
		.dtype = req->dtype,
		.blocks = blocks < most ? (uint32_t)blocks : most,
		.threads = GT_PREMUL_THREADS,
		/* Its blocks are more than ranks that share have room for. */
		.overlaps =
			!engine->sharers &&
			gt_cuda_may_overlap(engine, engine->choice.max_blocks),
		.stream = engine->ranks[rank].stream};

	return args.count ? gt_premul_run(&grid, &args) : 0;
}
