/*
 * Reductions of a group that go through scratch together: how many fit in a
 * launch, and where their lines lie.
 */
#include "exec/cuda/p2p/p2p.h"

#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"

enum {
	GT_SCRATCH_GROUP_ALIGN = 16,
	GT_SCRATCH_GROUP_MOST_BYTES = 256
				      << 20, /* of a launch: scratch is made */
};

/* Say what is added up on a rank. */
static struct gt_p2p gt_scratch_group_flow(const struct gt_engine *engine,
					   const struct gt_exec_request *req,
					   uint32_t rank)
{
	return gt_cuda_p2p_of(engine, req,
			      req->coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT
							     : GT_ALGO_ONE_SHOT,
			      rank);
}

static uint64_t gt_scratch_group_slice(const struct gt_engine *engine,
				       const struct gt_exec_request *req)
{
	return gt_scratch_group_flow(engine, req, 0).count *
	       gt_dtype_bytes(req->dtype);
}

static uint64_t gt_scratch_group_lines(const struct gt_engine *engine,
				       const struct gt_exec_request *req)
{
	return (gt_scratch_group_slice(engine, req) +
		GT_SCRATCH_GROUP_LINE_BYTES - 1) /
	       GT_SCRATCH_GROUP_LINE_BYTES;
}

/*
 * Other processes' buffers are out of reach, or registered ones are exchanged
 * for one request.
 */
int gt_scratch_group_can(const struct gt_engine *engine,
			 const struct gt_exec_request *req)
{
	uint64_t slice = gt_scratch_group_slice(engine, req);

	if (engine->group.world || engine->stages_in_host ||
	    slice % GT_SCRATCH_GROUP_ALIGN ||
	    slice * engine->plan->nranks > GT_SCRATCH_GROUP_MOST_BYTES)
		return 0;
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		if ((uintptr_t)gt_cuda_span_of(engine, req, r, r).input %
		    GT_SCRATCH_GROUP_ALIGN)
			return 0;
	return 1;
}

uint32_t gt_scratch_group_fit(const struct gt_engine *engine,
			      const struct gt_exec_request *const *reqs,
			      uint32_t n)
{
	uint32_t most = GT_SCRATCH_GROUP_OUTPUTS / engine->plan->nranks,
		 fit = 0;
	uint64_t bytes = 0;

	if (most > GT_SCRATCH_GROUP_OPS)
		most = GT_SCRATCH_GROUP_OPS;
	while (fit < n && fit < most) {
		bytes += gt_scratch_group_lines(engine, reqs[fit]) *
			 GT_SCRATCH_GROUP_LINE_BYTES * engine->plan->nranks;
		if (fit && bytes > GT_SCRATCH_GROUP_MOST_BYTES)
			break;
		fit++;
	}
	return fit;
}

int gt_scratch_group_need(struct gt_engine *engine,
			  const struct gt_exec_request *const *reqs, uint32_t n,
			  struct gt_err *err)
{
	uint64_t lines = 0;

	for (uint32_t i = 0; i < n; i++)
		lines += gt_scratch_group_lines(engine, reqs[i]);
	return gt_cuda_region_grow(engine, GT_CUDA_SCRATCH,
				   lines * GT_SCRATCH_GROUP_LINE_BYTES *
					   (engine->plan->nranks - 1),
				   reqs[0], err);
}

static void gt_scratch_group_add(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 uint32_t rank,
				 struct gt_scratch_group_args *args)
{
	struct gt_p2p flow = gt_scratch_group_flow(engine, req, rank);
	uint32_t elem = (uint32_t)gt_dtype_bytes(req->dtype);

	args->lines += (uint32_t)gt_scratch_group_lines(engine, req);
	for (uint32_t r = 0; r < flow.nranks; r++)
		args->outputs[args->nops * flow.nranks + r] =
			gt_cuda_span_of(engine, req, rank, r).output;
	args->ops[args->nops++] = (struct gt_scratch_group_op){
		.input = gt_cuda_span_of(engine, req, rank, rank).input,
		.end_line = args->lines,
		.slice = (uint32_t)flow.count * elem,
		.bytes = (uint32_t)flow.end * elem,
		.spreads = !!(flow.flags & GT_P2P_SPREAD),
		.divides = flow.divide != 0};
}

int gt_scratch_group_launch(const struct gt_engine *engine,
			    const struct gt_scratch_group *group, uint32_t rank)
{
	const struct gt_exec_request *first = group->reqs[0];
	struct gt_kernel_grid grid = {
		.dtype = first->dtype,
		.op = first->op,
		.blocks = group->blocks,
		.threads = GT_DIRECT_THREADS,
		.overlaps = gt_cuda_may_overlap(engine, group->blocks),
		.stream = engine->ranks[rank].stream};
	struct gt_scratch_group_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.me = rank,
		.nranks = engine->plan->nranks};
	struct gt_p2p all = gt_scratch_group_flow(engine, first, rank);

	for (uint32_t r = 0; r < args.nranks; r++) {
		args.flags[r] = gt_cuda_p2p_flags(engine, rank, r);
		args.scratch[r] =
			gt_cuda_region_at(engine, GT_CUDA_SCRATCH, rank, r);
	}
	for (uint32_t i = 0; i < group->n; i++)
		gt_scratch_group_add(engine, group->reqs[i], rank, &args);
	all.count = args.lines * (uint64_t)GT_SCRATCH_GROUP_LINE_BYTES;
	args.piece = (uint32_t)(gt_scratch_reduce_piece(&all, grid.blocks, 1) /
				GT_SCRATCH_GROUP_LINE_BYTES);
	return gt_scratch_group_run(&grid, &args);
}
