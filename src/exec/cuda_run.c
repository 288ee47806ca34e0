#include "exec/cuda_engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/plan.h"

enum { GT_CUDA_GRACE_S = 10 };

/* Where all ranks' threads meet, so that they launch together. */
struct gt_cuda_gate {
	uint32_t arrived;
	int open; /* 1: go, -1: leave, a thread could not be started */
	int64_t first_end_ns; /* when the first rank was done, 0 not yet */
};

/* One rank's host thread. */
struct gt_cuda_launch {
	struct gt_engine *engine;
	const struct gt_request *req;
	struct gt_cuda_gate *gate;
	pthread_t thread;
	uint32_t rank;
	uint32_t iters;
	int late; /* did not end long after another rank had */
	cudaError_t rc;
	float ms;
};

static struct gt_kernel_args gt_launch_args(const struct gt_cuda_launch *at)
{
	const struct gt_engine *engine = at->engine;
	const struct gt_engine_config *config = &engine->config;
	struct gt_cuda_rank *me = &engine->ranks[at->rank];
	struct gt_cuda_span span = gt_cuda_span_of(engine, at->req, at->rank);
	struct gt_kernel_args args = {
		.channels = me->tasks[at->req->coll].channels,
		.watch = engine->watch,
		.reports = me->reports,
		.input = span.input,
		.output = span.output,
		.input_first = span.input_first,
		.output_first = span.output_first,
		.timeout_ns = (uint64_t)config->timeout_ns,
		.op = at->req->op,
		.nranks = engine->plan->nranks,
		.nchannels = engine->plan->nchannels,
		.nworkers = engine->cut.workers,
		.nslots = engine->nslots,
		.slot_pitch = engine->slot_pitch,
		.turn = engine->cut.turn,
		.threads = engine->threads,
		.shared_bytes = engine->shared_bytes,
	};

	if (config->fault && config->fault_rank == at->rank) {
		args.fault = config->fault == GT_FAULT_STALL
				     ? GT_KERNEL_FAULT_STALL
				     : GT_KERNEL_FAULT_EXIT;
		args.fault_slice = config->fault_step;
	}
	return args;
}

static int gt_way_is_flow(const struct gt_way *way)
{
	return way->protocol != GT_PROTOCOL_SIMPLE;
}

static cudaError_t gt_launch_flows(const struct gt_cuda_launch *at)
{
	cudaError_t rc = cudaSuccess;

	for (uint32_t i = 0; rc == cudaSuccess && i < at->iters; i++)
		rc = (cudaError_t)gt_cuda_flow_launch(at->engine, at->req,
						      at->rank);
	return rc;
}

static cudaError_t gt_launch_all(const struct gt_cuda_launch *at)
{
	struct gt_kernel_args args;
	cudaStream_t stream = at->engine->ranks[at->rank].stream;
	cudaError_t rc = cudaSuccess;

	if (gt_way_is_flow(&at->engine->way))
		return gt_launch_flows(at);
	args = gt_launch_args(at);

	for (uint32_t i = 0; rc == cudaSuccess && i < at->iters; i++)
		rc = (cudaError_t)gt_kernel_run(at->req->dtype, &args, stream);
	return rc;
}

/* The launches as one graph, on the device before the clock starts. */
static cudaError_t gt_launch_capture(const struct gt_cuda_launch *at,
				     cudaGraphExec_t *exec)
{
	cudaStream_t stream = at->engine->ranks[at->rank].stream;
	cudaGraph_t graph = NULL;
	cudaError_t rc, end;

	rc = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	if (rc != cudaSuccess)
		return rc;
	rc = gt_launch_all(at);
	end = cudaStreamEndCapture(stream, &graph);
	if (rc == cudaSuccess)
		rc = end;
	if (rc == cudaSuccess)
		rc = cudaGraphInstantiate(exec, graph, 0);
	if (rc == cudaSuccess)
		rc = cudaGraphUpload(*exec, stream);
	if (graph)
		cudaGraphDestroy(graph);
	return rc;
}

static int gt_interrupted(const struct gt_engine *engine)
{
	return engine->config.interrupt && *engine->config.interrupt;
}

static void gt_watch_abort(struct gt_engine *engine)
{
	__atomic_store_n(&engine->watch->abort, 1, __ATOMIC_RELEASE);
}

/*
 * A rank may stop where nobody waits for it any more.  The others' kernels
 * then end, and since each needs data of all ranks, this one should as well.
 */
static int gt_launch_is_late(const struct gt_cuda_launch *at)
{
	int64_t first =
		__atomic_load_n(&at->gate->first_end_ns, __ATOMIC_ACQUIRE);

	return first && gt_clock_ns() - first > at->engine->config.timeout_ns;
}

/*
 * Wait for the end.  Kernels give up by themselves when a wait lasts too
 * long; the limit is for a GPU that does not even do that.
 */
static cudaError_t gt_launch_wait(struct gt_cuda_launch *at)
{
	struct gt_engine *engine = at->engine;
	cudaEvent_t end = engine->ranks[at->rank].end;
	int64_t limit = gt_clock_ns() + engine->config.timeout_ns +
			engine->config.timeout_ns / 4 * at->iters +
			GT_CUDA_GRACE_S * 1000000000ll;
	int64_t none = 0;
	cudaError_t rc;

	while ((rc = cudaEventQuery(end)) == cudaErrorNotReady) {
		if (!at->late)
			at->late = gt_launch_is_late(at);
		if (at->late || gt_interrupted(engine))
			gt_watch_abort(engine);
		if (gt_clock_ns() > limit) {
			gt_watch_abort(engine);
			return cudaErrorLaunchTimeout;
		}
		sched_yield();
	}
	__atomic_compare_exchange_n(&at->gate->first_end_ns, &none,
				    gt_clock_ns(), 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return rc;
}

static int gt_gate_pass(struct gt_cuda_gate *gate, uint32_t n)
{
	int open;

	if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == n)
		__atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE);
	while (!(open = __atomic_load_n(&gate->open, __ATOMIC_ACQUIRE)))
		sched_yield();
	return open > 0;
}

static void *gt_launch_thread(void *arg)
{
	struct gt_cuda_launch *at = arg;
	struct gt_cuda_rank *me = &at->engine->ranks[at->rank];
	cudaGraphExec_t exec = NULL;
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess && at->engine->config.graph)
		rc = gt_launch_capture(at, &exec);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->stream);
	if (!gt_gate_pass(at->gate, at->engine->plan->nranks))
		rc = cudaErrorOperatingSystem;
	if (rc == cudaSuccess)
		rc = cudaEventRecord(me->begin, me->stream);
	if (rc == cudaSuccess)
		rc = exec ? cudaGraphLaunch(exec, me->stream)
			  : gt_launch_all(at);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(me->end, me->stream);
	if (rc == cudaSuccess)
		rc = gt_launch_wait(at);
	if (rc == cudaSuccess)
		rc = cudaEventElapsedTime(&at->ms, me->begin, me->end);
	if (rc != cudaSuccess)
		gt_watch_abort(at->engine);
	if (exec)
		cudaGraphExecDestroy(exec);
	at->rc = rc;
	return NULL;
}

/* A thread a rank, this one for rank 0. */
static void gt_launch_join(struct gt_cuda_launch *all, uint32_t n)
{
	uint32_t started;

	for (started = 1; started < n; started++)
		if (pthread_create(&all[started].thread, NULL, gt_launch_thread,
				   &all[started]))
			break;
	if (started < n) {
		all[started].rc = cudaErrorOperatingSystem;
		__atomic_store_n(&all->gate->open, -1, __ATOMIC_RELEASE);
	}
	gt_launch_thread(&all[0]);
	for (uint32_t r = 1; r < started; r++)
		pthread_join(all[r].thread, NULL);
}

static int gt_launch_result(const struct gt_engine *engine,
			    const struct gt_cuda_launch *all,
			    int64_t *elapsed_ns, struct gt_err *err)
{
	uint32_t late = engine->plan->nranks;
	float ms = 0;

	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		if (all[r].rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)all[r].rc,
					    "run the collective", err);
		if (all[r].late)
			late = r;
		if (all[r].ms > ms)
			ms = all[r].ms;
	}
	if (__atomic_load_n(&engine->watch->abort, __ATOMIC_ACQUIRE))
		return gt_interrupted(engine)
			       ? gt_err_set(err, GT_ESYS, NULL, "interrupted")
			       : gt_cuda_blame(engine, late, err);
	*elapsed_ns = (int64_t)((double)ms * 1e6);
	return GT_OK;
}

int gt_cuda_run(struct gt_engine *engine, const struct gt_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks;
	struct gt_cuda_gate gate = {0};
	struct gt_cuda_launch *all;
	int rc = gt_cuda_way_of(engine, req, &engine->way, err);

	if (!rc)
		rc = gt_way_is_flow(&engine->way)
			     ? gt_cuda_flow_need(engine, req, err)
			     : gt_cuda_task_layout(engine, req, err);
	if (rc)
		return rc;
	all = calloc(nranks, sizeof(*all));
	if (!all)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < nranks; r++)
		all[r] = (struct gt_cuda_launch){.engine = engine,
						 .req = req,
						 .gate = &gate,
						 .rank = r,
						 .iters = iters};
	gt_launch_join(all, nranks);
	rc = gt_launch_result(engine, all, elapsed_ns, err);
	free(all);
	return rc;
}
