#include "exec/cuda_engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/layout.h"
#include "plan/plan.h"

enum { GT_CUDA_TAIL_BYTES = 256 }; /* behind a buffer, for shifted tests */

int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err)
{
	cudaGetLastError();
	return gt_err_set(err, GT_ESYS, NULL, "rank %u (%s): cannot %s: %s",
			  rank, engine->plan->ranks[rank].device, what,
			  cudaGetErrorString((cudaError_t)code));
}

/* Hops need access from the sender's and the receiver's GPU to the other's. */
static int gt_rank_reach(struct gt_engine *engine, uint32_t from, uint32_t to,
			 struct gt_err *err)
{
	int device = engine->ranks[from].device;
	int other = engine->ranks[to].device, can = 0;
	cudaError_t rc = cudaDeviceCanAccessPeer(&can, device, other);

	if (rc == cudaSuccess && !can)
		return gt_err_set(err, GT_ESYS, NULL,
				  "rank %u (%s) cannot reach the memory of "
				  "rank %u (%s): no peer access",
				  from, engine->plan->ranks[from].device, to,
				  engine->plan->ranks[to].device);
	if (rc == cudaSuccess)
		rc = cudaSetDevice(device);
	if (rc == cudaSuccess)
		rc = cudaDeviceEnablePeerAccess(other, 0);
	if (rc != cudaSuccess && rc != cudaErrorPeerAccessAlreadyEnabled)
		return gt_cuda_fail(engine, from, (int)rc, "enable peer access",
				    err);
	cudaGetLastError();
	return GT_OK;
}

static int gt_rank_open(struct gt_engine *engine, uint32_t rank,
			struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	size_t bytes = engine->config.max_bytes + GT_CUDA_TAIL_BYTES;
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&me->stream,
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaEventCreate(&me->begin);
	if (rc == cudaSuccess)
		rc = cudaEventCreate(&me->end);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->wrong, sizeof(*me->wrong));
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->input, bytes);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->output, bytes);
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "allocate buffers",
				    err);
	me->reports = engine->reports + (size_t)rank * engine->nblocks;
	return GT_OK;
}

static int gt_watch_open(struct gt_engine *engine, struct gt_err *err)
{
	size_t n = (size_t)engine->plan->nranks * engine->nblocks;
	size_t bytes = sizeof(*engine->reports) * n;
	cudaError_t rc;

	cudaSetDevice(engine->ranks[0].device);
	rc = cudaHostAlloc((void **)&engine->watch, sizeof(*engine->watch),
			   cudaHostAllocPortable | cudaHostAllocMapped);
	if (rc == cudaSuccess)
		rc = cudaHostAlloc((void **)&engine->reports, bytes,
				   cudaHostAllocPortable | cudaHostAllocMapped);
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, 0, (int)rc, "pin host memory", err);
	memset(engine->watch, 0, sizeof(*engine->watch));
	memset(engine->reports, 0, bytes);
	return GT_OK;
}

static void gt_cuda_close(struct gt_engine *engine)
{
	if (!engine)
		return;
	if (engine->ranks && engine->watch) {
		gt_cuda_task_release(engine);
		gt_cuda_flow_release(engine);
		gt_cuda_ce_release(engine);
		for (uint32_t r = 0; r < engine->plan->nranks; r++) {
			struct gt_cuda_rank *me = &engine->ranks[r];

			cudaSetDevice(me->device);
			cudaFree(me->input);
			cudaFree(me->output);
			cudaFree(me->wrong);
			if (me->begin)
				cudaEventDestroy(me->begin);
			if (me->end)
				cudaEventDestroy(me->end);
			if (me->stream)
				cudaStreamDestroy(me->stream);
		}
		cudaFreeHost(engine->reports);
		cudaFreeHost(engine->watch);
		cudaGetLastError();
	}
	gt_arena_free(engine->arena);
	free(engine);
}

static int gt_engine_setup(struct gt_engine *engine, struct gt_err *err)
{
	uint32_t n = engine->plan->nranks;
	int rc = gt_cuda_map(engine, err);

	if (!rc)
		rc = gt_cuda_choose(engine, err);
	if (!rc)
		rc = gt_watch_open(engine, err);
	for (uint32_t r = 0; !rc && r < n; r++)
		for (uint32_t p = 0; !rc && p < n; p++)
			if (p != r)
				rc = gt_rank_reach(engine, r, p, err);
	for (uint32_t r = 0; !rc && r < n; r++)
		rc = gt_rank_open(engine, r, err);
	return rc;
}

static int gt_cuda_open(const struct gt_engine_config *config,
			struct gt_engine **engine, struct gt_err *err)
{
	struct gt_engine *made = calloc(1, sizeof(*made));
	int rc;

	if (!made)
		return gt_err_nomem(err);
	made->config = *config;
	made->plan = config->plan;
	made->arena = gt_arena_new();
	if (made->arena) {
		made->ranks = gt_arena_array(made->arena, config->plan->nranks,
					     sizeof(*made->ranks));
		made->sel = gt_arena_array(made->arena, config->plan->nchannels,
					   sizeof(*made->sel));
	}
	if (!made->ranks || !made->sel) {
		gt_cuda_close(made);
		return gt_err_nomem(err);
	}
	rc = gt_engine_setup(made, err);
	if (rc) {
		gt_cuda_close(made);
		return rc;
	}
	*engine = made;
	return GT_OK;
}

static struct gt_range gt_cuda_range(const struct gt_engine *engine,
				     const struct gt_request *req,
				     enum gt_extent extent, uint32_t rank)
{
	uint64_t blocks =
		gt_coll_has_blocks(req->coll) ? engine->plan->nranks : 1;

	if (extent == GT_EXTENT_OWN)
		return (struct gt_range){req->count * rank, req->count};
	if (extent == GT_EXTENT_NONE)
		return (struct gt_range){0, 0};
	return (struct gt_range){0, req->count * blocks};
}

struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_request *req, uint32_t rank)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	const struct gt_use use = {.coll = req->coll, .root = req->root};
	size_t elem = gt_dtype_bytes(req->dtype);
	struct gt_range in =
		gt_cuda_range(engine, req, gt_layout_input(&use, rank), rank);
	struct gt_range out =
		gt_cuda_range(engine, req, gt_layout_output(&use, rank), rank);
	struct gt_cuda_span span = {.input = me->input + req->shift * elem,
				    .output = me->output + req->shift * elem,
				    .input_first = in.offset,
				    .output_first = out.offset,
				    .input_count = in.count,
				    .output_count = out.count};

	/* In place, a block lies where it is in the whole buffer. */
	if (req->inplace) {
		span.input = span.output + in.offset * elem;
		span.output += out.offset * elem;
	}
	return span;
}

static struct gt_kernel_data gt_data_of(const struct gt_engine *engine,
					const struct gt_request *req)
{
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(req->coll, req->dtype, req->op,
					   engine->plan->nranks, req->seed),
		.block_elems = req->count,
	};

	data.pattern.root = req->root;
	return data;
}

static int gt_cuda_fill(struct gt_engine *engine, const struct gt_request *req,
			struct gt_err *err)
{
	struct gt_kernel_data data = gt_data_of(engine, req);
	size_t bytes = engine->config.max_bytes + GT_CUDA_TAIL_BYTES;
	cudaError_t rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r);

		data.rank = r;
		data.data = span.input;
		data.first = span.input_first;
		data.count = span.input_count;
		rc = cudaSetDevice(me->device);
		if (rc == cudaSuccess)
			rc = cudaMemsetAsync(me->output, 0xa5, bytes,
					     me->stream);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_fill(&data, me->stream);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(me->stream);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc, "write inputs",
					    err);
	}
	return GT_OK;
}

static int gt_cuda_check(struct gt_engine *engine, const struct gt_request *req,
			 uint64_t *wrong, struct gt_err *err)
{
	struct gt_kernel_data data = gt_data_of(engine, req);
	uint64_t sum = 0, here;
	cudaError_t rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r);

		data.pattern.rank = r;
		data.data = span.output;
		data.first = span.output_first;
		data.count = span.output_count;
		data.wrong = me->wrong;
		rc = cudaSetDevice(me->device);
		if (rc == cudaSuccess)
			rc = cudaMemsetAsync(me->wrong, 0, sizeof(here),
					     me->stream);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_check(&data, me->stream);
		if (rc == cudaSuccess)
			rc = cudaMemcpyAsync(&here, me->wrong, sizeof(here),
					     cudaMemcpyDeviceToHost,
					     me->stream);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(me->stream);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc, "check outputs",
					    err);
		sum += here;
	}
	*wrong = sum;
	return GT_OK;
}

static int gt_cuda_how(struct gt_engine *engine, const struct gt_request *req,
		       struct gt_way *way, struct gt_err *err)
{
	int rc = gt_cuda_way_of(engine, req, way, err);

	if (!rc && way->protocol == GT_PROTOCOL_SIMPLE)
		way->blocks = engine->cut.workers * engine->nsel;
	return rc;
}

static int gt_cuda_usable(void)
{
	int count = 0;

	return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

const struct gt_engine_ops gt_engine_cuda = {
	.name = "cuda",
	.usable = gt_cuda_usable,
	.open = gt_cuda_open,
	.close = gt_cuda_close,
	.fill = gt_cuda_fill,
	.run = gt_cuda_run,
	.how = gt_cuda_how,
	.check = gt_cuda_check,
};
