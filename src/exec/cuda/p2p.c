#include "exec/cuda/engine.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/trace.h"
#include "plan/ir/plan.h"

/* A slice of a buffer in n: whole lines, so that packs stay aligned. */
static uint64_t gt_flow_slice(const struct gt_exec_request *req, uint32_t n)
{
	uint64_t line = GT_CUDA_LINE_BYTES / gt_dtype_bytes(req->dtype);
	uint64_t slice = (gt_exec_request_count(req) + n - 1) / n;

	return (slice + line - 1) / line * line;
}

/*
 * Where all bytes come from the root or go to it, the others take equal
 * slices: each is sent on by one of them, so nobody sends more than the whole.
 */
static void gt_flow_rooted_two(struct gt_p2p *flow,
			       const struct gt_exec_request *req)
{
	uint32_t n = flow->nranks, all = (1u << n) - 1, root = 1u << req->root;
	int casts = req->coll == GT_COLL_BROADCAST;

	flow->first = (req->root + 1) % n;
	flow->via = all & ~root;
	flow->back = casts ? flow->via : root;
	if (casts)
		flow->divide = 0;
	if (flow->me == req->root) {
		flow->to = casts ? all : flow->via;
		flow->from = casts ? root : flow->via;
		flow->adds = 0;
		flow->takes = casts ? GT_P2P_BLOCKS : GT_P2P_SUMS;
	} else {
		flow->to = casts ? 0 : flow->via;
		flow->from = casts ? flow->via : 0;
		flow->adds = casts ? root : all;
		flow->takes = casts ? GT_P2P_SUMS : GT_P2P_NOTHING;
	}
}

static void gt_flow_two_shot(struct gt_p2p *flow,
			     const struct gt_exec_request *req)
{
	uint32_t n = flow->nranks;

	flow->end = gt_exec_request_count(req);
	flow->flags |= GT_P2P_SPREAD;
	flow->via = flow->back = flow->to;
	flow->takes = GT_P2P_SUMS;
	if (req->coll != GT_COLL_ALLREDUCE) {
		gt_flow_rooted_two(flow, req);
		n = n > 1 ? n - 1 : 1;
	}
	flow->count = gt_flow_slice(req, n);
	flow->in_stride = flow->out_stride = flow->count;
}

/* What one rank holds for all, or gets from all: the root's part. */
static void gt_flow_rooted(struct gt_p2p *flow,
			   const struct gt_exec_request *req)
{
	uint32_t all = flow->to, root = 1u << req->root;
	int mine = flow->me == req->root;

	if (req->coll == GT_COLL_BROADCAST || req->coll == GT_COLL_SCATTER) {
		flow->to = mine ? all : 0;
		flow->from = root;
		if (req->coll == GT_COLL_SCATTER)
			flow->in_stride = req->count;
		return;
	}
	flow->to = root;
	flow->from = mine ? all : 0;
	if (req->coll == GT_COLL_GATHER)
		flow->out_stride = req->count;
	else if (mine)
		flow->flags |= GT_P2P_REDUCE;
}

struct gt_p2p gt_cuda_p2p_of(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     enum gt_algo algo, uint32_t rank)
{
	uint32_t n = engine->plan->nranks, all = (1u << n) - 1;
	struct gt_p2p flow = {.count = gt_exec_request_count(req),
			      .to = all,
			      .from = all,
			      .me = rank,
			      .nranks = n,
			      .divide = req->op == GT_REDOP_AVG ? n : 0};

	switch (req->coll) {
	case GT_COLL_ALLREDUCE:
		flow.flags = GT_P2P_REDUCE;
		break;
	case GT_COLL_REDUCESCATTER:
		flow.flags = GT_P2P_REDUCE;
		flow.in_stride = req->count;
		break;
	case GT_COLL_ALLTOALL:
		flow.in_stride = req->count;
		flow.out_stride = req->count;
		break;
	case GT_COLL_ALLGATHER:
		flow.out_stride = req->count;
		break;
	case GT_COLL_SENDRECV:
		flow.to = 1u << (rank + 1) % n;
		flow.from = 1u << (rank + n - 1) % n;
		break;
	default:
		gt_flow_rooted(&flow, req);
	}
	if (flow.flags & GT_P2P_REDUCE)
		flow.adds = all;
	else
		flow.takes = GT_P2P_BLOCKS;
	if (algo == GT_ALGO_TWO_SHOT)
		gt_flow_two_shot(&flow, req);
	return flow;
}

static uint64_t gt_ll_part_bytes(int ll128)
{
	return ll128 ? GT_CUDA_LL128_PART_BYTES : GT_CUDA_LL_PART_BYTES;
}

uint64_t gt_cuda_ll_buffer_bytes(int ll128)
{
	return 2 * gt_ll_part_bytes(ll128);
}

/* Both of a rank's mailboxes: for every parity and rank two parts. */
static uint64_t gt_ll_buffers_bytes(const struct gt_engine *engine, int ll128)
{
	return 2 * gt_cuda_ll_buffer_bytes(ll128) * engine->plan->nranks;
}

int gt_cuda_p2p_fits(const struct gt_engine *engine,
		     const struct gt_exec_request *req,
		     const struct gt_algo_choice *choice)
{
	struct gt_p2p flow = gt_cuda_p2p_of(engine, req, choice->algo, 0);
	int ll128 = choice->protocol == GT_PROTOCOL_LL128;
	uint64_t data = ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA;
	uint64_t bytes = flow.count * gt_dtype_bytes(req->dtype);
	uint64_t room = gt_ll_part_bytes(ll128);

	if (!(flow.flags & GT_P2P_SPREAD))
		room *= 2;
	return (bytes + data - 1) / data <= room / GT_PACKET_CHUNK_BYTES;
}

char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128)
{
	return gt_cuda_region_at(engine, GT_CUDA_LL_BUFFERS, viewer, rank) +
	       (ll128 ? gt_ll_buffers_bytes(engine, 0) : 0);
}

uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank)
{
	char *mail = gt_cuda_ll_buffer_at(engine, viewer, rank, 1);

	return (void *)(mail + gt_ll_buffers_bytes(engine, 1));
}

/* Everything that flows need in the ranks' memory, zeros. */
static int gt_p2p_alloc(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t flags =
		(uint64_t)engine->processors * GT_P2P_RANKS * sizeof(uint64_t);
	uint64_t bytes[GT_P2P_RANKS];
	int rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		bytes[r] = gt_ll_buffers_bytes(engine, 0) +
			   gt_ll_buffers_bytes(engine, 1) + flags;
	rc = gt_cuda_region_new(engine, GT_CUDA_LL_BUFFERS, bytes, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t done = cudaSetDevice(me->device);

		if (done == cudaSuccess)
			done = cudaMalloc((void **)&me->epoch,
					  sizeof(*me->epoch));
		if (done == cudaSuccess)
			done = cudaMemsetAsync(me->epoch, 0, sizeof(*me->epoch),
					       me->own);
		if (done == cudaSuccess)
			done = cudaStreamSynchronize(me->own);
		if (done == cudaSuccess)
			done = (cudaError_t)gt_group_prepare();
		if (done != cudaSuccess)
			rc = gt_cuda_fail(engine, r, (int)done,
					  "allocate counters", err);
	}
	return rc;
}

int gt_cuda_p2p_load(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err)
{
	if (engine->p2p_dtypes >> dtype & 1)
		return GT_OK;
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaError_t done = cudaSetDevice(engine->ranks[r].device);

		if (done == cudaSuccess)
			done = (cudaError_t)gt_p2p_prepare(dtype);
		if (done != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)done,
					    "load the kernels", err);
	}
	engine->p2p_dtypes |= 1u << dtype;
	return GT_OK;
}

int gt_cuda_p2p_open(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err)
{
	int rc = GT_OK;

	if (!engine->regions[GT_CUDA_LL_BUFFERS].at)
		rc = gt_p2p_alloc(engine, err);
	return rc ? rc : gt_cuda_p2p_load(engine, dtype, err);
}

int gt_cuda_p2p_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err)
{
	int rc = gt_cuda_p2p_open(engine, req->dtype, err);

	if (!rc && (engine->choice.protocol == GT_PROTOCOL_CE ||
		    engine->choice.protocol == GT_PROTOCOL_DIRECT))
		rc = gt_cuda_ce_need(engine, req, err);
	return rc;
}

void gt_cuda_p2p_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		cudaFree(engine->ranks[r].epoch);
	}
}

struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank)
{
	const struct gt_engine_config *config = &engine->config;
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_kernel_guard guard = {
		.epoch = me->epoch,
		.watch = engine->watch,
		.reports = me->reports,
		.timeout_ns = (uint64_t)config->timeout_ns,
	};

	if (config->fault && config->fault_rank == rank)
		guard.fault = config->fault == GT_FAULT_STALL
				      ? GT_KERNEL_FAULT_STALL
				      : GT_KERNEL_FAULT_EXIT;
	return guard;
}

static int gt_launch_packets(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     const struct gt_kernel_grid *grid, uint32_t rank)
{
	int ll128 = engine->choice.protocol == GT_PROTOCOL_LL128;
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	struct gt_packet_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.part = {.flow = gt_cuda_p2p_of(engine, req,
						engine->choice.algo, rank),
			 .input = span.input,
			 .output = span.output,
			 .part_bytes = gt_ll_part_bytes(ll128),
			 .box_bytes = gt_cuda_ll_buffer_bytes(ll128)}};
	int rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.mail[r] = gt_cuda_ll_buffer_at(engine, rank, r, ll128);
	args.guard.marks = gt_cuda_trace_kernel(engine, rank);
	rc = gt_cuda_trace_packets(engine, rank, ll128, &args);
	return rc ? rc : gt_packet_run(grid, ll128, &args);
}

int gt_cuda_p2p_overwrites(const struct gt_exec_request *req)
{
	return req->inplace &&
	       (req->coll == GT_COLL_ALLTOALL || req->coll == GT_COLL_SENDRECV);
}

/* The input to the scratch, from where it goes. */
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
 * Blocks that keep a rank's own block, where that is another one than goes to
 * the others: so many that they are done with it before those are.
 */
static uint32_t gt_flow_keepers(const struct gt_engine *engine,
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
		.lifts = 1,
		.end_post = 2,
		.end_wait = 2,
		.last = 1,
		.keepers = gt_flow_keepers(engine, req)};

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
		args.lifts = 0;
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

/* Who serves it tells it first, and waits for it behind the detour. */
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

static int gt_launch_direct(const struct gt_engine *engine,
			    const struct gt_exec_request *req,
			    const struct gt_kernel_grid *grid, uint32_t rank)
{
	struct gt_direct_args args;

	if (req->part_count)
		return req->root == rank
			       ? gt_launch_root(engine, req, grid, rank)
			       : gt_launch_server(engine, req, grid, rank);
	args = gt_direct_args_of(engine, req, rank);
	return gt_direct_run(grid, &args);
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

	/* Faults are for operations. */
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
				      /* Not where a detour forks off. */
				      .overlaps = !req->part_count,
				      .stream = engine->ranks[rank].stream};

	if (!req->count)
		return 0;
	if (engine->choice.protocol != GT_PROTOCOL_LL &&
	    engine->choice.protocol != GT_PROTOCOL_LL128 &&
	    gt_cuda_p2p_overwrites(req)) {
		cudaError_t rc = gt_launch_input_copy(engine, req, rank);

		if (rc != cudaSuccess)
			return (int)rc;
		grid.overlaps = 0;
	}
	if (engine->choice.protocol == GT_PROTOCOL_CE)
		return gt_cuda_ce_launch(engine, req, rank);
	if (engine->choice.protocol != GT_PROTOCOL_DIRECT)
		return gt_launch_packets(engine, req, &grid, rank);
	if (gt_choice_is_scratch_reduce(&engine->choice, req->coll))
		return gt_scratch_reduce_launch(engine, req, &grid, rank);
	return gt_launch_direct(engine, req, &grid, rank);
}
