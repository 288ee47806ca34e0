/*
 * Requests on the callers' streams.  Nothing here waits for a device, and
 * nothing is illegal while a stream is captured: calls that could disturb
 * somebody's capture are made in relaxed mode, as they touch no stream that is
 * captured.
 */
#include "exec/cuda/requests.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/cuda/device/closing_turn.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/captures.h"
#include "exec/cuda/user_buffers.h"
#include "world/world.h"

enum {
	GT_STREAM_NEWS_MS = 1000,   /* until one hears who is gone */
	GT_STREAM_SPIN_NS = 200000, /* of a wait, before it sleeps in between */
	GT_STREAM_SLEEP_NS = 20000,
	/* That one rank puts on its stream before the next one does. */
	GT_STREAM_TURN_PIECES = 4,
	GT_STREAM_TURNS_MISSED = 250, /* looks of 20 ms */
};

/* A thread's settings from before it came here are kept, to be put back. */
struct gt_stream_thread_state {
	enum cudaStreamCaptureMode mode;
	int device;
};

static struct gt_stream_thread_state gt_stream_enter(void)
{
	struct gt_stream_thread_state state = {
		.mode = cudaStreamCaptureModeRelaxed, .device = -1};

	cudaThreadExchangeStreamCaptureMode(&state.mode);
	cudaGetDevice(&state.device);
	return state;
}

static void gt_stream_leave(struct gt_stream_thread_state state)
{
	cudaThreadExchangeStreamCaptureMode(&state.mode);
	if (state.device >= 0)
		cudaSetDevice(state.device);
}

/* End everything; nobody is met any more. */
static void gt_stream_abort(struct gt_engine *engine)
{
	gt_cuda_abort(engine);
	__atomic_store_n(&engine->failed, 1, __ATOMIC_RELAXED);
}

/*
 * Copy engines and direct loads reach into all ranks' buffers, where they do
 * not go through the host.
 */
static int gt_stream_reaches_peers(const struct gt_engine *engine)
{
	return engine->group.world && !engine->stages_in_host &&
	       (engine->choice.protocol == GT_PROTOCOL_DIRECT ||
		engine->choice.protocol == GT_PROTOCOL_CE);
}

/* Does engine->choice go on streams beside a rank's, too? */
static int gt_stream_goes_beside(const struct gt_engine *engine,
				 const struct gt_exec_request *req)
{
	return engine->choice.protocol == GT_PROTOCOL_CE ||
	       engine->choice.detour_permille ||
	       gt_cuda_pieces_number(engine, req) > 1;
}

/* A rank's part goes on the caller's stream from now on. */
static cudaError_t gt_stream_take(struct gt_engine *engine,
				  const struct gt_exec_request *req,
				  uint32_t rank)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	cudaError_t rc = cudaSetDevice(me->device);

	me->stream = req->streams[rank];
	return rc == cudaSuccess && gt_stream_goes_beside(engine, req)
		       ? (cudaError_t)gt_cuda_capture_enter(engine, rank)
		       : rc;
}

static void gt_stream_put_back(struct gt_engine *engine, uint32_t rank)
{
	gt_cuda_capture_leave(engine, rank);
	engine->ranks[rank].stream = engine->ranks[rank].own;
}

/* Launch a rank's part of some pieces. */
static int gt_stream_launch_rank(struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 uint32_t rank, uint32_t piece,
				 struct gt_err *err)
{
	struct gt_exec_request seen = *req;
	cudaError_t rc = gt_stream_take(engine, req, rank);

	if (engine->access == GT_CUDA_ACCESS_REGISTERED)
		seen.buffers = gt_user_buffers_seen_by(engine, rank);
	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_cuda_pieces_enqueue(
			engine, &seen, rank, piece, GT_STREAM_TURN_PIECES);
	gt_stream_put_back(engine, rank);
	return rc == cudaSuccess ? GT_OK
				 : gt_cuda_fail(engine, rank, (int)rc,
						"launch the collective", err);
}

/* Find how the request gets at the buffers, alike in all processes. */
static int gt_stream_access_of(struct gt_engine *engine,
			       const struct gt_exec_request *req,
			       uint32_t group, struct gt_err *err)
{
	struct gt_registered_place place = {{GT_OFFSET_NONE, 0},
					    {GT_OFFSET_NONE, 0}};
	int rc = gt_cuda_choose_algo(engine, req, &engine->choice, err);
	/* What is multiplied lies in the engine's memory anyway. */
	int pulls = engine->choice.protocol == GT_PROTOCOL_CE &&
		    !gt_exec_request_premultiplies(req);
	int opened = 0;

	engine->access = GT_CUDA_ACCESS_LOCAL;
	if (rc || !engine->group.world)
		return rc;
	if (req->count && gt_stream_reaches_peers(engine)) {
		rc = gt_user_buffers_find(engine, req, &place, &opened, err);
		/* Two ranks' inputs are sent to the root's memory. */
		opened = opened && (!pulls || req->coll != GT_COLL_REDUCE);
		engine->access = opened  ? GT_CUDA_ACCESS_REGISTERED
				 : pulls ? GT_CUDA_ACCESS_PULLED
					 : GT_CUDA_ACCESS_STAGED;
	}
	gt_ledger_add(engine, req, group, &place);
	return rc;
}

/* Make what a request needs; in several processes it is there. */
static int gt_stream_prepare(struct gt_engine *engine,
			     const struct gt_exec_request *req, uint32_t group,
			     struct gt_err *err)
{
	int rc = gt_stream_access_of(engine, req, group, err);

	return rc ? rc : gt_cuda_pieces_prepare(engine, req, err);
}

/* Launch all ranks' parts, which wait for one another in many steps. */
static int gt_stream_launch_staged(struct gt_engine *engine,
				   const struct gt_exec_request *req,
				   struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	cudaError_t rc = cudaSuccess;

	for (uint32_t r = group->first; rc == cudaSuccess && r < group->end;
	     r++)
		rc = gt_stream_take(engine, req, r);
	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_cuda_enqueue_staged(engine, req);
	for (uint32_t r = group->first; r < group->end; r++)
		gt_stream_put_back(engine, r);
	return rc ? gt_cuda_fail(engine, group->first, (int)rc,
				 "launch the collective", err)
		  : GT_OK;
}

/*
 * A GPU's queue has room for some thousand commands, and the thread that fills
 * one would wait there for ranks that it has not come to.  So they take turns.
 */
static int gt_stream_launch(struct gt_engine *engine,
			    const struct gt_exec_request *req,
			    struct gt_err *err)
{
	uint32_t number = gt_cuda_pieces_number(engine, req);
	int rc = GT_OK;

	if (gt_cuda_is_staged(engine, req))
		return gt_stream_launch_staged(engine, req, err);
	for (uint32_t k = 0; !rc && k < number; k += GT_STREAM_TURN_PIECES)
		for (uint32_t r = engine->group.first;
		     !rc && r < engine->group.end; r++)
			rc = gt_stream_launch_rank(engine, req, r, k, err);
	return rc;
}

/*
 * Is everything there because the last request was like this one?  Not between
 * processes, which tell each other of each.
 */
static int gt_stream_is_prepared(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 const struct gt_exec_request *last)
{
	return last && !engine->group.world &&
	       gt_exec_request_is_like(req, last);
}

/* Requests of a group are in no order: those that share launches come last. */
static int gt_stream_enqueue_group(struct gt_engine *engine,
				   const struct gt_exec_request *reqs,
				   uint32_t n, struct gt_err *err)
{
	struct gt_cuda_fusion bundle = {.n = 0};
	const struct gt_exec_request *last = NULL;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < n; i++) {
		struct gt_exec_request all = reqs[i];

		if (!gt_stream_is_prepared(engine, &reqs[i], last))
			rc = gt_stream_prepare(engine, &all, n, err);
		last = &reqs[i];
		if (rc)
			break;
		if (!gt_cuda_fusion_takes(engine, &all)) {
			rc = gt_stream_launch(engine, &all, err);
			continue;
		}
		gt_cuda_fusion_add(engine, &bundle, &reqs[i]);
		if (bundle.n < GT_GROUP_OPS)
			continue;
		/* A flush leaves other choices behind. */
		last = NULL;
		rc = gt_cuda_fusion_flush(engine, &bundle, err);
	}
	return rc ? rc : gt_cuda_fusion_flush(engine, &bundle, err);
}

/*
 * Is all of it in captures, of which one was invalidated?  Then it goes with
 * the capture, and there is nothing to end.
 */
static int gt_stream_is_void(const struct gt_engine *engine, void *const *of)
{
	unsigned long long id;
	int is_void = 0;

	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaError_t rc = gt_cuda_capture_find(of[r], &id);

		if (rc == cudaErrorStreamCaptureInvalidated)
			is_void = 1;
		else if (rc != cudaSuccess || !id)
			return 0;
	}
	return is_void;
}

static int gt_stream_tell_void(struct gt_err *err)
{
	gt_err_init(err);
	return gt_err_set(err, GT_ENO, NULL,
			  "the stream is in a capture that was invalidated by "
			  "a call that CUDA forbids in it");
}

static int gt_stream_enqueue(struct gt_engine *engine,
			     const struct gt_exec_request *reqs, uint32_t n,
			     struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	struct gt_exec_request all = *reqs;
	int rc;

	if (n > 1) {
		rc = gt_stream_enqueue_group(engine, reqs, n, err);
	} else {
		rc = gt_stream_prepare(engine, &all, n, err);
		if (!rc)
			rc = gt_stream_launch(engine, &all, err);
	}
	gt_cuda_proxy_wake(engine);
	if (rc && gt_stream_is_void(engine, reqs->streams))
		rc = gt_stream_tell_void(err);
	else if (rc)
		gt_stream_abort(engine);
	gt_stream_leave(state);
	return rc;
}

static int gt_stream_sendrecv_setup(struct gt_engine *engine,
				    struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_sendrecv_setup(engine, err);

	gt_stream_leave(state);
	return rc;
}

static int gt_stream_sendrecv(struct gt_engine *engine, uint32_t rank,
			      void *stream, const struct gt_message *messages,
			      uint32_t n, struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_sendrecv(engine, rank, stream, messages, n, err);
	unsigned long long id;

	if (rc && gt_cuda_capture_find(stream, &id) ==
			  cudaErrorStreamCaptureInvalidated)
		rc = gt_stream_tell_void(err);
	else if (rc)
		gt_stream_abort(engine);
	gt_stream_leave(state);
	return rc;
}

/* Say what has failed in this process. */
static int gt_stream_fault(struct gt_engine *engine, struct gt_err *err)
{
	cudaError_t rc;

	if (gt_cuda_interrupted(engine))
		return gt_err_set(err, GT_ESYS, NULL, "interrupted");
	if (gt_ledger_compare(engine, err))
		return GT_EINPUT;
	if (gt_cuda_is_aborted(engine))
		return gt_cuda_diagnose(engine, engine->plan->nranks, err);
	if (gt_process_group_check(&engine->group, err))
		return GT_ESYS;
	/* Nothing is on this stream; it tells what befell the GPU. */
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		rc = cudaStreamQuery(engine->ranks[r].own);
		if (rc != cudaSuccess && rc != cudaErrorNotReady)
			return gt_cuda_fail(engine, r, (int)rc, "go on", err);
	}
	return GT_OK;
}

/*
 * A process that is gone is the reason for whatever went wrong here: its death
 * may show on the GPU before the others are told.
 */
static int gt_stream_failed(struct gt_engine *engine, struct gt_err *err)
{
	int64_t limit = gt_clock_ns() + GT_STREAM_NEWS_MS * 1000000ll;
	struct gt_world *world = engine->group.world;
	struct gt_err own;
	int rc;

	gt_err_init(&own);
	rc = gt_stream_fault(engine, &own);
	if (!rc && !(world && gt_world_failed(world, err)))
		return GT_OK;
	gt_stream_abort(engine);
	while (world && !gt_cuda_interrupted(engine) &&
	       !gt_world_failed(world, err) && gt_clock_ns() < limit)
		sched_yield();
	return rc ? gt_err_set(err, rc, NULL, "%s", own.text) : GT_ESYS;
}

static int gt_stream_watch(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_stream_failed(engine, err);

	gt_ledger_warn(engine, gt_clock_ns());
	gt_stream_leave(state);
	return rc;
}

static void gt_stream_pause(int64_t since_ns)
{
	const struct timespec some = {0, GT_STREAM_SLEEP_NS};

	if (gt_clock_ns() - since_ns < GT_STREAM_SPIN_NS)
		sched_yield();
	else
		nanosleep(&some, NULL);
}

static int gt_stream_poll(struct gt_engine *engine, uint32_t rank,
			  cudaEvent_t event, int64_t until_ns,
			  struct gt_err *err)
{
	int64_t begin = gt_clock_ns();
	cudaError_t rc;

	while ((rc = cudaEventQuery(event)) == cudaErrorNotReady) {
		if (gt_cuda_is_aborted(engine) || gt_cuda_interrupted(engine))
			return gt_stream_failed(engine, err);
		if (until_ns >= 0 && gt_clock_ns() >= until_ns)
			return 1;
		gt_stream_pause(begin);
	}
	return rc == cudaSuccess
		       ? gt_stream_failed(engine, err)
		       : gt_cuda_fail(engine, rank, (int)rc, "go on", err);
}

static int gt_stream_await(struct gt_engine *engine, uint32_t rank,
			   void *stream, int64_t until_ns, struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
	cudaError_t done = cudaSetDevice(engine->ranks[rank].device);
	cudaEvent_t event = NULL;
	int rc = GT_OK;

	if (done == cudaSuccess)
		done = cudaStreamIsCapturing(stream, &capture);
	if (done == cudaSuccess && capture != cudaStreamCaptureStatusNone) {
		rc = gt_err_set(err, GT_ENO, NULL,
				"rank %u's stream is being captured: there is "
				"nothing to wait for",
				rank);
		goto leave;
	}
	if (done == cudaSuccess)
		done = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
	if (done == cudaSuccess)
		done = cudaEventRecord(event, stream);
	rc = done == cudaSuccess
		     ? gt_stream_poll(engine, rank, event, until_ns, err)
		     : gt_cuda_fail(engine, rank, (int)done, "wait", err);
	if (event)
		cudaEventDestroy(event);
leave:
	gt_stream_leave(state);
	return rc;
}

static int gt_stream_register(struct gt_engine *engine, uint32_t rank,
			      const void *buffer, uint64_t bytes,
			      struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_register(engine, rank, buffer, bytes, err);

	/* Others wait for what this process could not make. */
	if (rc == GT_ESYS)
		gt_stream_abort(engine);
	gt_stream_leave(state);
	return rc;
}

static int gt_stream_owns(const struct gt_engine *engine, uint32_t rank,
			  const void *buffer, uint64_t bytes,
			  struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_owns(engine, rank, buffer, bytes, err);

	gt_stream_leave(state);
	return rc;
}

static int gt_stream_deregister(struct gt_engine *engine, uint32_t rank,
				const void *buffer, struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_deregister(engine, rank, buffer, err);

	if (rc == GT_ESYS)
		gt_stream_abort(engine);
	gt_stream_leave(state);
	return rc;
}

static int gt_stream_prepare_premul(struct gt_engine *engine,
				    struct gt_err *err)
{
	struct gt_stream_thread_state state = gt_stream_enter();
	int rc = gt_cuda_reserve_premul(engine, err);

	gt_stream_leave(state);
	return rc;
}

/* Who does not have the turn now comes again, though not for ever. */
static void gt_stream_service(struct gt_engine *engine)
{
	struct gt_stream_thread_state state;
	int turn = gt_closing_turn_take(0);

	if (turn == GT_CLOSING_TURN_BUSY &&
	    ++engine->turns_missed < GT_STREAM_TURNS_MISSED)
		return;
	engine->turns_missed = 0;
	state = gt_stream_enter();
	gt_registrations_close_left(engine);
	gt_stream_leave(state);
	gt_closing_turn_give(turn);
}

static int gt_stream_device(const struct gt_engine *engine, uint32_t rank)
{
	return engine->ranks[rank].device;
}

const struct gt_async_ops gt_cuda_async = {
	.enqueue = gt_stream_enqueue,
	.sendrecv_setup = gt_stream_sendrecv_setup,
	.sendrecv = gt_stream_sendrecv,
	.await = gt_stream_await,
	.watch = gt_stream_watch,
	.device = gt_stream_device,
	.owns = gt_stream_owns,
	.prepare_premul = gt_stream_prepare_premul,
	.register_buffer = gt_stream_register,
	.deregister_buffer = gt_stream_deregister,
	.release_requested = gt_user_buffers_release_due,
	.service_releases = gt_stream_service,
};
