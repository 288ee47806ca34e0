/*
 * Launches a rank's kernel of a request as packets or direct stores, or hands it
 * to the copy engines or to scratch.
 */
#include "exec/cuda/p2p/launch.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/span.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "exec/cuda/p2p/args.h"
#include "exec/cuda/p2p/copy_engine.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/memory.h"
#include "exec/cuda/p2p/scratch_reduce.h"
#include "plan/ir/plan.h"

int gt_cuda_p2p_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err)
{
	int rc = gt_cuda_p2p_open(engine, req->dtype, err);

	if (!rc && (engine->choice.protocol == GT_PROTOCOL_CE ||
		    engine->choice.protocol == GT_PROTOCOL_DIRECT))
		rc = gt_cuda_ce_need(engine, req, err);
	return rc;
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

/* Copy the input to scratch, from where it goes. */
static cudaError_t gt_launch_input_copy(const struct gt_engine *engine,
					const struct gt_exec_request *req,
					uint32_t rank)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);

	return cudaMemcpyAsync(
		gt_cuda_region_at(engine, GT_CUDA_SCRATCH, rank, rank),
		span.input, span.input_count * gt_dtype_bytes(req->dtype),
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

static struct gt_direct_args gt_direct_args_of(
	const struct gt_engine *engine, const struct gt_exec_request *req,
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

/*
 * A reduction's root pulls beside its detour.  It waits for the others when it
 * begins, who tell it before their detours, and not at its end.
 */
static int gt_launch_root(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_kernel_grid *grid, uint32_t rank)
{
	struct gt_direct_args args = gt_direct_args_of(engine, req, rank);
	int rc = gt_cuda_detour_begin(engine, rank);

	args.end_wait = 0;
	if (!rc)
		rc = gt_direct_run(grid, &args);
	return rc ? rc : gt_cuda_detour_launch(engine, req, rank);
}

/*
 * A rank that serves a pulling root tells it first, and waits for it behind the
 * detour.
 */
static int gt_launch_server(const struct gt_engine *engine,
			    const struct gt_exec_request *req,
			    const struct gt_kernel_grid *grid, uint32_t rank)
{
	struct gt_direct_args tell = gt_direct_args_of(engine, req, rank);
	struct gt_direct_args wait = tell;
	int rc;

	tell.begin_wait = tell.end_post = tell.end_wait = tell.last = 0;
	wait.begin_post = wait.begin_wait = 0;
	rc = gt_direct_run(grid, &tell);
	if (!rc)
		rc = gt_cuda_detour_begin(engine, rank);
	if (!rc)
		rc = gt_cuda_detour_launch(engine, req, rank);
	return rc ? rc : gt_direct_run(grid, &wait);
}

int gt_cuda_p2p_barrier(const struct gt_engine *engine, enum gt_dtype dtype,
			uint32_t rank)
{
	const struct gt_kernel_grid grid = {.dtype = dtype,
					    .blocks = 1,
					    .threads = 32,
					    .stream =
						    engine->ranks[rank].stream};
	struct gt_direct_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.flow = {.me = rank, .nranks = engine->plan->nranks},
		.begin_post = 1,
		.begin_wait = 1,
		.last = 1};

	/* Faults are for operations, not for barriers. */
	args.guard.fault = GT_KERNEL_FAULT_NONE;
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.flags[r] = gt_cuda_p2p_flags(engine, rank, r);
	return gt_direct_run(&grid, &args);
}

int gt_cuda_p2p_launch(const struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_kernel_grid grid = {.dtype = req->dtype,
				      .op = req->op,
				      .blocks = engine->choice.blocks,
				      .threads = engine->choice.threads,
				      /* Not early where a detour forks. */
				      .overlaps = !req->part_count,
				      .stream = engine->ranks[rank].stream};

	int ll128 = engine->choice.protocol == GT_PROTOCOL_LL128, rc = 0;
	struct gt_packet_args packets;
	struct gt_direct_args direct;

	if (!req->count)
		return 0;
	if (ll128 || engine->choice.protocol == GT_PROTOCOL_LL) {
		packets = gt_packet_args_of(engine, req, rank);
		rc = gt_cuda_trace_packets(engine, rank, ll128, &packets);
		return rc ? rc : gt_packet_run(&grid, ll128, &packets);
	}
	if (gt_cuda_p2p_overwrites(req)) {
		rc = (int)gt_launch_input_copy(engine, req, rank);
		grid.overlaps = 0;
	}
	if (rc)
		return rc;
	if (engine->choice.protocol == GT_PROTOCOL_CE)
		return gt_cuda_ce_launch(engine, req, rank);
	if (gt_choice_is_scratch_reduce(&engine->choice, req->coll))
		return gt_scratch_reduce_launch(engine, req, &grid, rank);
	if (req->part_count)
		return req->root == rank
			       ? gt_launch_root(engine, req, &grid, rank)
			       : gt_launch_server(engine, req, &grid, rank);
	direct = gt_direct_args_of(engine, req, rank);
	return gt_direct_run(&grid, &direct);
}
