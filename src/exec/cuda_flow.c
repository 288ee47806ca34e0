#include "exec/cuda_engine.h"

#include <string.h>

#include "base/err.h"
#include "plan/plan.h"

/* A slice of a buffer in n: whole lines, so that packs stay aligned. */
static uint64_t gt_flow_slice(const struct gt_request *req, uint32_t n)
{
	uint64_t line = GT_CUDA_LINE_BYTES / gt_dtype_bytes(req->dtype);
	uint64_t slice = (req->count + n - 1) / n;

	return (slice + line - 1) / line * line;
}

static void gt_flow_two_shot(struct gt_flow *flow, const struct gt_request *req)
{
	flow->end = req->count;
	flow->count = gt_flow_slice(req, flow->nranks);
	flow->in_stride = flow->out_stride = flow->count;
	flow->flags |= GT_FLOW_SPREAD;
}

/* What one rank holds for all, or gets from all: the root's part. */
static void gt_flow_rooted(struct gt_flow *flow, const struct gt_request *req)
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
		flow->flags |= GT_FLOW_REDUCE;
}

struct gt_flow gt_cuda_flow_of(const struct gt_engine *engine,
			       const struct gt_request *req, enum gt_algo algo,
			       uint32_t rank)
{
	uint32_t n = engine->plan->nranks, all = (1u << n) - 1;
	struct gt_flow flow = {.count = req->count,
			       .to = all,
			       .from = all,
			       .me = rank,
			       .nranks = n,
			       .divide = req->op == GT_REDOP_AVG ? n : 0};

	switch (req->coll) {
	case GT_COLL_ALLREDUCE:
		flow.flags = GT_FLOW_REDUCE;
		if (algo == GT_ALGO_TWO_SHOT)
			gt_flow_two_shot(&flow, req);
		break;
	case GT_COLL_REDUCESCATTER:
		flow.flags = GT_FLOW_REDUCE;
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
	return flow;
}

static uint64_t gt_part_bytes(int ll128)
{
	return ll128 ? GT_CUDA_LL128_PART_BYTES : GT_CUDA_LL_PART_BYTES;
}

/* Both of a rank's mailboxes: for every parity and rank two parts. */
static uint64_t gt_mail_bytes(const struct gt_engine *engine, int ll128)
{
	return 4 * gt_part_bytes(ll128) * engine->plan->nranks;
}

int gt_cuda_flow_fits(const struct gt_engine *engine,
		      const struct gt_request *req, const struct gt_way *way)
{
	struct gt_flow flow = gt_cuda_flow_of(engine, req, way->algo, 0);
	int ll128 = way->protocol == GT_PROTOCOL_LL128;
	uint64_t data = ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA;
	uint64_t bytes = flow.count * gt_dtype_bytes(req->dtype);
	uint64_t room = gt_part_bytes(ll128);

	if (!(flow.flags & GT_FLOW_SPREAD))
		room *= 2;
	return (bytes + data - 1) / data <= room / GT_PACKET_CHUNK_BYTES;
}

/* Everything that a rank's flows need in its memory, zeros. */
static cudaError_t gt_flow_alloc(struct gt_engine *engine,
				 struct gt_cuda_rank *me)
{
	size_t flags = (size_t)engine->processors * GT_FLOW_RANKS;
	size_t bytes;
	cudaError_t rc = cudaSetDevice(me->device);

	for (int p = 0; rc == cudaSuccess && p < 2; p++) {
		bytes = gt_mail_bytes(engine, p);
		rc = cudaMalloc((void **)&me->mail[p], bytes);
		if (rc == cudaSuccess)
			rc = cudaMemset(me->mail[p], 0, bytes);
	}
	bytes = flags * sizeof(*me->flags);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->flags, bytes);
	if (rc == cudaSuccess)
		rc = cudaMemset(me->flags, 0, bytes);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->epoch, sizeof(*me->epoch));
	if (rc == cudaSuccess)
		rc = cudaMemset(me->epoch, 0, sizeof(*me->epoch));
	if (rc == cudaSuccess)
		rc = cudaDeviceSynchronize();
	return rc;
}

int gt_cuda_flow_need(struct gt_engine *engine, const struct gt_request *req,
		      struct gt_err *err)
{
	enum gt_dtype dtype = req->dtype;
	uint32_t n = engine->plan->nranks;

	for (uint32_t r = 0; r < n; r++) {
		cudaError_t rc = cudaSuccess;

		if (!engine->ranks[r].epoch)
			rc = gt_flow_alloc(engine, &engine->ranks[r]);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "allocate mailboxes", err);
	}
	for (uint32_t r = 0; r < n && !(engine->flows >> dtype & 1); r++) {
		cudaError_t rc = cudaSetDevice(engine->ranks[r].device);

		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_flow_prepare(dtype);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "load the kernels", err);
	}
	engine->flows |= 1u << dtype;
	if (engine->way.protocol == GT_PROTOCOL_CE ||
	    engine->way.protocol == GT_PROTOCOL_DIRECT)
		return gt_cuda_ce_need(engine, req, err);
	return GT_OK;
}

void gt_cuda_flow_release(struct gt_engine *engine)
{
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];

		cudaSetDevice(me->device);
		cudaFree(me->mail[0]);
		cudaFree(me->mail[1]);
		cudaFree(me->flags);
		cudaFree(me->epoch);
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
			     const struct gt_request *req,
			     const struct gt_kernel_grid *grid, uint32_t rank)
{
	int ll128 = engine->way.protocol == GT_PROTOCOL_LL128;
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank);
	struct gt_packet_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.flow = gt_cuda_flow_of(engine, req, engine->way.algo, rank),
		.input = span.input,
		.output = span.output,
		.part_bytes = gt_part_bytes(ll128)};

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.mail[r] = engine->ranks[r].mail[ll128];
	return gt_packet_run(grid, ll128, &args);
}

int gt_cuda_flow_replaces(const struct gt_request *req)
{
	return req->inplace &&
	       (req->coll == GT_COLL_ALLTOALL || req->coll == GT_COLL_SENDRECV);
}

/* The input to the scratch, from where it goes. */
static cudaError_t gt_launch_aside(const struct gt_engine *engine,
				   const struct gt_request *req, uint32_t rank)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank);

	return cudaMemcpyAsync(me->scratch, span.input,
			       span.input_count * gt_dtype_bytes(req->dtype),
			       cudaMemcpyDeviceToDevice, me->stream);
}

static int gt_launch_direct(const struct gt_engine *engine,
			    const struct gt_request *req,
			    const struct gt_kernel_grid *grid, uint32_t rank)
{
	struct gt_direct_args args = {
		.guard = gt_cuda_guard_of(engine, rank),
		.flow = gt_cuda_flow_of(engine, req, engine->way.algo, rank),
		.begin_post = 1,
		.begin_wait = 1,
		.lifts = 1,
		.end_post = 2,
		.end_wait = 2,
		.last = 1};

	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r);

		args.input[r] = span.input;
		args.output[r] = span.output;
		args.flags[r] = engine->ranks[r].flags;
	}
	if (gt_cuda_flow_replaces(req))
		args.input[rank] = engine->ranks[rank].scratch;
	/* A rooted reduction has one rank that pulls; the others serve. */
	if (req->coll == GT_COLL_REDUCE && !(args.flow.flags & GT_FLOW_REDUCE))
		args.lifts = 0;
	return gt_direct_run(grid, &args);
}

int gt_cuda_flow_launch(const struct gt_engine *engine,
			const struct gt_request *req, uint32_t rank)
{
	struct gt_kernel_grid grid = {.dtype = req->dtype,
				      .op = req->op,
				      .blocks = engine->way.blocks,
				      .threads = engine->way.threads,
				      .overlaps = 1,
				      .stream = engine->ranks[rank].stream};

	if (!req->count)
		return 0;
	if (engine->way.protocol != GT_PROTOCOL_LL &&
	    engine->way.protocol != GT_PROTOCOL_LL128 &&
	    gt_cuda_flow_replaces(req)) {
		cudaError_t rc = gt_launch_aside(engine, req, rank);

		if (rc != cudaSuccess)
			return (int)rc;
		grid.overlaps = 0;
	}
	if (engine->way.protocol == GT_PROTOCOL_CE)
		return gt_cuda_ce_launch(engine, req, rank);
	if (engine->way.protocol == GT_PROTOCOL_DIRECT)
		return gt_launch_direct(engine, req, &grid, rank);
	return gt_launch_packets(engine, req, &grid, rank);
}
