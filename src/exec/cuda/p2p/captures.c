/*
 * Keeps the streams of captures, and puts them where whoever enqueues a request
 * looks for the streams beside a rank's.
 */
#include "exec/cuda/p2p/captures.h"

#include "base/arena.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/detour_slots.h"

enum { GT_CAPTURE_STREAMS = 3 + 2 * GT_DETOUR_LANES };

/* There is one for each capture that was open beside others, for the next. */
struct gt_cuda_capture {
	struct gt_cuda_capture *next;
	unsigned long long id; /* the last one's that had it */
	cudaStream_t streams[GT_CAPTURE_STREAMS];
};

cudaError_t gt_cuda_capture_find(cudaStream_t stream, unsigned long long *id)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	cudaError_t rc = cudaSuccess;

	*id = 0;
	/* The legacy stream is in none, and may not be asked beside one. */
	if (!stream || stream == cudaStreamLegacy)
		return rc;
#if CUDART_VERSION >= 13000
	rc = cudaStreamGetCaptureInfo(stream, &status, id, NULL, NULL, NULL,
				      NULL);
#else
	rc = cudaStreamGetCaptureInfo_v2(stream, &status, id, NULL, NULL, NULL);
#endif
	if (rc == cudaSuccess && status == cudaStreamCaptureStatusInvalidated)
		rc = cudaErrorStreamCaptureInvalidated;
	if (rc != cudaSuccess || status == cudaStreamCaptureStatusNone)
		*id = 0;
	return rc;
}

/* Says where the streams beside a rank's are kept, and returns how many. */
static uint32_t gt_capture_places(struct gt_cuda_rank *me,
				  cudaStream_t *places[GT_CAPTURE_STREAMS])
{
	uint32_t n = 0;

	places[n++] = &me->side;
	places[n++] = &me->second;
	if (!me->detour)
		return n;
	places[n++] = &me->detour->meet;
	for (int lane = 0; lane < GT_DETOUR_LANES; lane++) {
		places[n++] = &me->detour->out[lane];
		places[n++] = &me->detour->in[lane];
	}
	return n;
}

/* Is a stream of its in a capture still? */
static int gt_capture_is_open(const struct gt_cuda_capture *capture)
{
	enum cudaStreamCaptureStatus status;

	for (int i = 0; i < GT_CAPTURE_STREAMS; i++)
		if (capture->streams[i] &&
		    (cudaStreamIsCapturing(capture->streams[i], &status) !=
			     cudaSuccess ||
		     status != cudaStreamCaptureStatusNone))
			return 1;
	return 0;
}

/* Find what the capture has, or what no capture has any more, or make it. */
static struct gt_cuda_capture *gt_capture_of(struct gt_engine *engine,
					     struct gt_cuda_rank *me,
					     unsigned long long id)
{
	struct gt_cuda_capture *at = me->captures;

	while (at && at->id != id)
		at = at->next;
	if (at)
		return at;
	for (at = me->captures; at && gt_capture_is_open(at);)
		at = at->next;
	if (!at) {
		at = gt_arena_alloc(engine->arena, sizeof(*at));
		if (!at)
			return NULL;
		at->next = me->captures;
		me->captures = at;
	}
	at->id = id;
	return at;
}

/* Make a stream like another one: a graph keeps its priority. */
static cudaError_t gt_capture_stream(cudaStream_t like, cudaStream_t *made)
{
	int priority;
	cudaError_t rc = cudaStreamGetPriority(like, &priority);

	return rc == cudaSuccess
		       ? cudaStreamCreateWithPriority(
				 made, cudaStreamNonBlocking, priority)
		       : rc;
}

static void gt_capture_swap(struct gt_cuda_rank *me)
{
	cudaStream_t *places[GT_CAPTURE_STREAMS], stream;
	uint32_t n = gt_capture_places(me, places);

	for (uint32_t i = 0; i < n; i++) {
		stream = *places[i];
		*places[i] = me->capture->streams[i];
		me->capture->streams[i] = stream;
	}
}

int gt_cuda_capture_enter(struct gt_engine *engine, uint32_t rank)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	cudaStream_t *places[GT_CAPTURE_STREAMS];
	uint32_t n = gt_capture_places(me, places);
	struct gt_cuda_capture *capture;
	unsigned long long id;
	cudaError_t rc = gt_cuda_capture_find(me->stream, &id);

	if (rc != cudaSuccess || !id)
		return (int)rc;
	capture = gt_capture_of(engine, me, id);
	if (!capture)
		return (int)cudaErrorMemoryAllocation;
	for (uint32_t i = 0; rc == cudaSuccess && i < n; i++)
		if (*places[i] && !capture->streams[i])
			rc = gt_capture_stream(*places[i],
					       &capture->streams[i]);
	if (rc != cudaSuccess)
		return (int)rc;
	me->capture = capture;
	gt_capture_swap(me);
	return cudaSuccess;
}

void gt_cuda_capture_leave(struct gt_engine *engine, uint32_t rank)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];

	if (me->capture)
		gt_capture_swap(me);
	me->capture = NULL;
}

void gt_cuda_captures_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];

		cudaSetDevice(me->device);
		for (; me->captures; me->captures = me->captures->next)
			for (int i = 0; i < GT_CAPTURE_STREAMS; i++)
				if (me->captures->streams[i])
					cudaStreamDestroy(
						me->captures->streams[i]);
	}
}
