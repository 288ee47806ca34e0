/*
 * Runs requests for the command line: one host thread a rank launches and
 * waits, all begin together, and who stops or is late is found out.
 */
#include "exec/cuda/requests.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/p2p.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	GT_CUDA_GRACE_S = 10,
	GT_CUDA_NEWS_MS = 1000,     /* until one hears who is gone */
	GT_CUDA_LOOK_NS = 20000000, /* between looks at other processes */
};

/*
 * Looks at interrupts and other processes while ranks launch: a queue that is
 * full keeps their threads until its kernels, which may wait for who is gone,
 * end.
 */
struct gt_run_watch {
	struct gt_engine *engine;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int over;
};

/* All ranks' threads wait at this gate, so that they launch together. */
struct gt_start_gate {
	uint32_t arrived;
	int open; /* 1: go, -1: leave, a thread could not be started */
	int64_t first_end_ns; /* when the first rank was done, 0 not yet */
};

/* One rank's host thread, and what it has seen. */
struct gt_rank_thread {
	struct gt_engine *engine;
	const struct gt_exec_request *req;
	struct gt_start_gate *gate;
	pthread_t thread;
	uint32_t rank;
	uint32_t iters;
	int late;    /* did not end long after another rank had */
	int stalled; /* neither moved nor waited for long */
	int over;    /* past all limits */
	uint64_t moved;
	int64_t since_ns; /* when it was last seen to move or wait */
	cudaError_t rc;
	float ms;
};

/* How many ranks does this process launch? */
static uint32_t gt_local_ranks(const struct gt_engine *engine)
{
	return engine->group.end - engine->group.first;
}

/* Begin to capture launches as one graph. */
static cudaError_t gt_graph_begin(const struct gt_rank_thread *at)
{
	return cudaStreamBeginCapture(at->engine->ranks[at->rank].stream,
				      cudaStreamCaptureModeThreadLocal);
}

/*
 * End a capture, during which rc came about.  The graph is on the device before
 * the clock starts.
 */
static cudaError_t gt_graph_end(const struct gt_rank_thread *at, cudaError_t rc,
				cudaGraphExec_t *exec)
{
	cudaStream_t stream = at->engine->ranks[at->rank].stream;
	cudaGraph_t graph = NULL;
	cudaError_t end = cudaStreamEndCapture(stream, &graph);

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

/*
 * Has the rank not ended long after another one?  A rank may stop where nobody
 * waits for it any more: the others' kernels then end, and since each needs
 * data of all ranks, this one should as well.
 */
static int gt_rank_is_late(const struct gt_rank_thread *at)
{
	int64_t first =
		__atomic_load_n(&at->gate->first_end_ns, __ATOMIC_ACQUIRE);

	return first && gt_clock_ns() - first > at->engine->config.timeout_ns;
}

/*
 * Does the rank neither move nor wait?  Over links the others' reports are not
 * seen here, and who waits for a rank that waits could take it for the culprit.
 * So each process names its own rank that stands still, and does so first: a
 * kernel that waits says so.
 */
static int gt_rank_is_stalled(struct gt_rank_thread *at)
{
	const struct gt_engine *engine = at->engine;
	const struct gt_cuda_rank *me = &engine->ranks[at->rank];
	uint64_t moved;
	int64_t now;

	if (gt_choice_is_p2p(&engine->choice) ||
	    !gt_cuda_link_progress(engine, at->req->coll, at->rank, &moved))
		return 0;
	now = gt_clock_ns();
	for (uint32_t b = 0; b < engine->nblocks; b++)
		if (__atomic_load_n(&me->reports[b].state, __ATOMIC_RELAXED))
			at->since_ns = now;
	if (!at->since_ns || moved != at->moved)
		at->since_ns = now;
	at->moved = moved;
	return now - at->since_ns > engine->config.timeout_ns / 4 * 3;
}

/*
 * Wait for the end.  Kernels give up by themselves when a wait lasts too
 * long; the limit is for a GPU that does not even do that.  Then they are told
 * to, and as long as they end it is found out who stopped.
 */
static cudaError_t gt_rank_wait(struct gt_rank_thread *at)
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
			at->late = gt_rank_is_late(at);
		if (!at->stalled)
			at->stalled = gt_rank_is_stalled(at);
		if (at->late || at->stalled || gt_cuda_interrupted(engine) ||
		    gt_process_group_check(&engine->group, NULL))
			gt_cuda_abort(engine);
		if (gt_clock_ns() > limit && at->over)
			return cudaErrorLaunchTimeout;
		if (gt_clock_ns() > limit) {
			gt_cuda_abort(engine);
			at->over = 1;
			limit += GT_CUDA_GRACE_S * 1000000000ll;
		}
		sched_yield();
	}
	__atomic_compare_exchange_n(&at->gate->first_end_ns, &none,
				    gt_clock_ns(), 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return rc;
}

static int gt_gate_pass(struct gt_start_gate *gate, uint32_t n)
{
	int open;

	if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == n)
		__atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE);
	while (!(open = __atomic_load_n(&gate->open, __ATOMIC_ACQUIRE)))
		sched_yield();
	return open > 0;
}

static void *gt_rank_time(void *arg)
{
	struct gt_rank_thread *at = arg;
	struct gt_cuda_rank *me = &at->engine->ranks[at->rank];
	/* A graph's events have no times. */
	int graph = at->engine->config.graph && !at->req->trace;
	cudaGraphExec_t exec = NULL;
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess && graph)
		rc = gt_graph_begin(at);
	if (rc == cudaSuccess && graph) {
		rc = (cudaError_t)gt_cuda_enqueue(at->engine, at->req, at->rank,
						  at->iters);
		rc = gt_graph_end(at, rc, &exec);
	}
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->stream);
	if (!gt_gate_pass(at->gate, gt_local_ranks(at->engine)))
		rc = cudaErrorOperatingSystem;
	if (rc == cudaSuccess && gt_cuda_starts_together(at->engine))
		rc = (cudaError_t)gt_cuda_p2p_barrier(at->engine, at->rank);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(me->begin, me->stream);
	if (rc == cudaSuccess)
		rc = exec ? cudaGraphLaunch(exec, me->stream)
			  : (cudaError_t)gt_cuda_enqueue(at->engine, at->req,
							 at->rank, at->iters);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(me->end, me->stream);
	if (rc == cudaSuccess)
		rc = gt_rank_wait(at);
	if (rc == cudaSuccess)
		rc = cudaEventElapsedTime(&at->ms, me->begin, me->end);
	if (rc != cudaSuccess)
		gt_cuda_abort(at->engine);
	if (exec)
		cudaGraphExecDestroy(exec);
	at->rc = rc;
	return NULL;
}

static void *gt_run_watch_main(void *arg)
{
	struct gt_run_watch *watch = arg;
	struct gt_engine *engine = watch->engine;
	struct timespec until;

	pthread_mutex_lock(&watch->mutex);
	while (!watch->over) {
		if (gt_cuda_interrupted(engine) ||
		    gt_process_group_check(&engine->group, NULL))
			gt_cuda_abort(engine);
		until = gt_clock_timespec(gt_clock_ns() + GT_CUDA_LOOK_NS);
		pthread_cond_timedwait(&watch->changed, &watch->mutex, &until);
	}
	pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

static int gt_run_watch_start(struct gt_run_watch *watch, struct gt_err *err)
{
	pthread_condattr_t attr;
	int rc;

	pthread_mutex_init(&watch->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->changed, &attr);
	pthread_condattr_destroy(&attr);
	rc = gt_thread_start(&watch->thread, gt_run_watch_main, watch, err);
	if (rc) {
		pthread_cond_destroy(&watch->changed);
		pthread_mutex_destroy(&watch->mutex);
	}
	return rc;
}

static void gt_run_watch_stop(struct gt_run_watch *watch)
{
	pthread_mutex_lock(&watch->mutex);
	watch->over = 1;
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
	pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->mutex);
}

/* Start a thread for each rank but the first, which is this thread's. */
static uint32_t gt_ranks_start(struct gt_rank_thread *all, uint32_t n)
{
	uint32_t started;

	for (started = 1; started < n; started++)
		if (pthread_create(&all[started].thread, NULL, gt_rank_time,
				   &all[started]))
			break;
	if (started < n) {
		all[started].rc = cudaErrorOperatingSystem;
		__atomic_store_n(&all->gate->open, -1, __ATOMIC_RELEASE);
	}
	return started;
}

/* Say which of this process's ranks failed, or find the longest time of all. */
static int gt_ranks_result(const struct gt_engine *engine,
			   const struct gt_rank_thread *all, float *ms,
			   struct gt_err *err)
{
	uint32_t late = engine->plan->nranks, first = engine->group.first;

	for (uint32_t i = 0; i < gt_local_ranks(engine); i++) {
		if (all[i].rc != cudaSuccess)
			return gt_cuda_fail(engine, first + i, (int)all[i].rc,
					    "run the collective", err);
		if (all[i].stalled)
			return gt_err_set(
				err, GT_ESYS, NULL,
				"rank %u (%s) stopped: it neither moved nor "
				"waited for %.1f s",
				first + i,
				engine->plan->ranks[first + i].device,
				(double)engine->config.timeout_ns * 0.75e-9);
		if (all[i].late)
			late = first + i;
		if (all[i].ms > *ms)
			*ms = all[i].ms;
	}
	if (gt_cuda_is_aborted(engine))
		return gt_cuda_interrupted(engine)
			       ? gt_err_set(err, GT_ESYS, NULL, "interrupted")
			       : gt_cuda_diagnose(engine, late, err);
	return GT_OK;
}

/*
 * Does a rank of this process stand still?  Then it is for this process to say
 * so.
 */
static int gt_ranks_have_stalled(const struct gt_engine *engine,
				 const struct gt_rank_thread *all)
{
	for (uint32_t i = 0; i < gt_local_ranks(engine); i++)
		if (all[i].stalled)
			return 1;
	return 0;
}

/*
 * A process that is gone is the reason for whatever went wrong here: its
 * death, or its leave, may show on the GPU and on links before the others are
 * told.
 */
static int gt_ranks_collect(struct gt_engine *engine,
			    const struct gt_rank_thread *all, float *ms,
			    struct gt_err *err)
{
	int64_t limit = gt_clock_ns() + GT_CUDA_NEWS_MS * 1000000ll;
	struct gt_world *world = engine->group.world;
	struct gt_err own;
	int rc;

	gt_err_init(&own);
	rc = gt_ranks_result(engine, all, ms, &own);
	if (!rc)
		return GT_OK;
	if (world && gt_ranks_have_stalled(engine, all))
		gt_world_abort(world, own.text);
	else if (world && !gt_cuda_interrupted(engine))
		while (!gt_world_failed(world, err) && gt_clock_ns() < limit)
			sched_yield();
	if (world && !gt_ranks_have_stalled(engine, all))
		gt_process_group_check(&engine->group, err);
	return gt_err_set(err, rc, NULL, "%s", own.text);
}

static int gt_ranks_prepare(struct gt_engine *engine,
			    const struct gt_exec_request *req,
			    struct gt_err *err)
{
	int rc = gt_cuda_prepare(engine, req, err);

	if (!rc && gt_cuda_starts_together(engine))
		rc = gt_cuda_p2p_open(engine, req->dtype, err);
	/* Nobody waits on a GPU while another process gets ready. */
	if (!rc && engine->group.world)
		rc = gt_world_allgather(engine->group.world, NULL, 0, NULL,
					err);
	return rc;
}

/* Say for each local rank what its thread is to do. */
static struct gt_rank_thread *gt_ranks_new(struct gt_engine *engine,
					   const struct gt_exec_request *req,
					   uint32_t iters,
					   struct gt_start_gate *gate)
{
	uint32_t n = gt_local_ranks(engine);
	struct gt_rank_thread *all = calloc(n, sizeof(*all));

	for (uint32_t i = 0; all && i < n; i++)
		all[i] =
			(struct gt_rank_thread){.engine = engine,
						.req = req,
						.gate = gate,
						.rank = engine->group.first + i,
						.iters = iters};
	return all;
}

/* Run all local ranks' threads, the first of which is this one. */
static int gt_ranks_run(struct gt_engine *engine, struct gt_rank_thread *all,
			struct gt_err *err)
{
	struct gt_run_watch watch = {.engine = engine};
	int rc = gt_run_watch_start(&watch, err);
	uint32_t started;

	if (rc)
		return rc;
	started = gt_ranks_start(all, gt_local_ranks(engine));
	gt_rank_time(&all[0]);
	for (uint32_t r = 1; r < started; r++)
		pthread_join(all[r].thread, NULL);
	gt_run_watch_stop(&watch);
	return GT_OK;
}

int gt_cuda_run(struct gt_engine *engine, const struct gt_exec_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err)
{
	int rc = gt_ranks_prepare(engine, req, err);
	struct gt_start_gate gate = {0};
	struct gt_rank_thread *all = NULL;
	uint64_t longest_ns;
	float ms = 0;

	if (!rc && req->trace)
		rc = gt_cuda_trace_begin(engine, req, err);
	if (!rc) {
		all = gt_ranks_new(engine, req, iters, &gate);
		rc = all ? gt_cuda_proxy_start(engine, err) : gt_err_nomem(err);
		if (!rc)
			rc = gt_ranks_run(engine, all, err);
		gt_cuda_proxy_stop(engine);
	}
	if (!rc)
		rc = gt_ranks_collect(engine, all, &ms, err);
	free(all);
	if (!rc && req->trace)
		rc = gt_cuda_trace_take(engine, req, err);
	if (req->trace)
		gt_cuda_trace_end(engine);
	longest_ns = (uint64_t)((double)ms * 1e6);
	if (!rc && engine->group.world)
		rc = gt_world_max(engine->group.world, &longest_ns, err);
	if (rc == GT_ESYS)
		engine->failed = 1;
	if (!rc)
		*elapsed_ns = (int64_t)longest_ns;
	return rc;
}
