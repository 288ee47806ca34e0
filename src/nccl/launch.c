/* Streams, events and order around what the backend enqueues. */
#include "nccl/launch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "nccl/say.h"

/* A configuration's graph_usage_mode, the greatest and NCCL's default. */
enum { GT_GRAPHS_AND_STREAMS = 2 };

/* A rank's messages to itself begin and end in the same group. */
gt_nccl_result gt_launch_may(struct gt_face *face,
			     const struct gt_launch_op *ops, uint32_t n,
			     const char *call)
{
	uint32_t sent = 0, received = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_backend_op *op = &ops[i].op;

		sent += op->kind == GT_BACKEND_SEND && op->peer == face->rank;
		received +=
			op->kind == GT_BACKEND_RECV && op->peer == face->rank;
	}
	if (sent == received)
		return GT_NCCL_SUCCESS;
	return gt_say_error(GT_NCCL_INVALID_USAGE,
			    "%s: rank %u sends itself %u messages and receives "
			    "%u of them in the group",
			    call, face->rank, sent, received);
}

/* The i-th operation's stream, if it is not that of one before it. */
static int gt_launch_is_new(const struct gt_launch_op *ops, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (ops[k].stream == ops[i].stream)
			return 0;
	return 1;
}

/* Which capture the stream is in; err says so if it was invalidated. */
static int gt_launch_find_capture(const struct gt_face *face, void *stream,
				  unsigned long long *id, struct gt_err *err)
{
	int rc = face->cuda->stream_capture(stream, id);

	if (!rc && *id == GT_CUDA_INVALIDATED)
		gt_err_set(err, GT_ENO, NULL,
			   "a stream of rank %u is in a capture that was "
			   "invalidated by a call that CUDA forbids in it; end "
			   "the capture before",
			   face->rank);
	return rc;
}

/* What leaves the communicator as it was; an error of CUDA's or of `err`. */
static gt_nccl_result gt_launch_refuse(const struct gt_face *face, int cuda_rc,
				       const struct gt_err *err,
				       const char *call)
{
	return gt_say_error(GT_NCCL_CUDA_ERROR, "%s: %s", call,
			    err->code ? err->text : face->cuda->words(cuda_rc));
}

/* In a group all streams are captured, in one graph, or none. */
static gt_nccl_result gt_launch_check_captures(const struct gt_face *face,
					       const struct gt_launch_op *ops,
					       uint32_t n, const char *call)
{
	unsigned long long first = 0, capture = 0;
	struct gt_err err;
	int rc = 0;

	gt_err_init(&err);
	for (uint32_t i = 0; !rc && !err.code && i < n; i++) {
		if (!gt_launch_is_new(ops, i))
			continue;
		rc = gt_launch_find_capture(face, ops[i].stream, &capture,
					    &err);
		if (!i)
			first = capture;
		if (!rc && !err.code && capture != first)
			return gt_say_error(GT_NCCL_INVALID_USAGE,
					    "%s: some streams of rank %u's "
					    "group are captured in another "
					    "graph than others, or in none",
					    call, face->rank);
	}
	return rc || err.code ? gt_launch_refuse(face, rc, &err, call)
			      : GT_NCCL_SUCCESS;
}

/* Events are made when they are first needed. */
static int gt_launch_need(const struct gt_face *face, void *_Atomic *event)
{
	void *made;
	int rc;

	if (atomic_load(event))
		return 0;
	rc = face->cuda->event_new(&made);
	if (!rc)
		atomic_store(event, made);
	return rc;
}

static int gt_launch_need_events(struct gt_face *face,
				 struct gt_face_order *order)
{
	int rc = gt_launch_need(face, &face->join);

	if (!rc)
		rc = gt_launch_need(face, &face->orders[0].event);
	return rc ? rc : gt_launch_need(face, &order->event);
}

/* Find the order of what is in no graph, of a capture, or one to be used. */
static struct gt_face_order *gt_launch_find_order(struct gt_face *face,
						  unsigned long long capture)
{
	struct gt_face_order *oldest = &face->orders[1];

	if (!capture)
		return &face->orders[0];
	for (int i = 1; i <= GT_FACE_CAPTURES; i++) {
		if (face->orders[i].capture == capture)
			return &face->orders[i];
		if (face->orders[i].used < oldest->used)
			oldest = &face->orders[i];
	}
	return oldest;
}

/* As in NCCL: programs that do not mix them may spare graphs the order. */
static int gt_launch_mixes(const struct gt_face *face)
{
	const char *text = getenv("NCCL_GRAPH_MIXING_SUPPORT");
	int mode = face->config.graph_usage_mode;

	return (mode == GT_NCCL_UNDEFINED || mode == GT_GRAPHS_AND_STREAMS) &&
	       (!text || atoi(text));
}

/* What is captured first in a graph waits for all before it that is in none. */
static int gt_launch_begin_graph(struct gt_face *face,
				 struct gt_face_order *order, void *stream)
{
	order->node = NULL;
	if (!gt_launch_mixes(face))
		return 0;
	face->has_graphs = 1;
	return face->cuda->graph_wait(stream,
				      atomic_load(&face->orders[0].event));
}

/*
 * Operations follow each other on any streams, those that are captured in the
 * graph: a stream can wait for no event of another capture.  Graphs and what is
 * in none keep the order in which they are launched.
 */
static int gt_launch_order(struct gt_face *face, void *stream,
			   unsigned long long capture,
			   struct gt_face_order **out)
{
	const struct gt_cuda *cuda = face->cuda;
	struct gt_face_order *order = gt_launch_find_order(face, capture);
	int rc = gt_launch_need_events(face, order);
	/* To ask for a number ends a capture, in which handles stay. */
	unsigned long long id =
		capture ? (uintptr_t)stream : cuda->stream_id(stream);

	order->used = ++face->nordered;
	if (!rc && order->capture != capture)
		rc = gt_launch_begin_graph(face, order, stream);
	else if (!rc &&
		 (!id || order->stream != id || (!capture && face->has_graphs)))
		rc = cuda->stream_wait(stream, atomic_load(&order->event));
	if (rc)
		return rc;
	order->capture = capture;
	order->stream = id;
	*out = order;
	return 0;
}

/* The first stream waits for the others, and for the operation before. */
static int gt_launch_gather(struct gt_face *face,
			    const struct gt_launch_op *ops, uint32_t n,
			    struct gt_face_order **order, struct gt_err *err)
{
	const struct gt_cuda *cuda = face->cuda;
	void *stream = ops[0].stream;
	unsigned long long capture;
	int rc = gt_launch_find_capture(face, stream, &capture, err);

	if (rc || err->code)
		return rc;
	rc = gt_launch_order(face, stream, capture, order);
	for (uint32_t i = 1; !rc && i < n; i++) {
		if (!gt_launch_is_new(ops, i))
			continue;
		rc = cuda->event_record(atomic_load(&face->join),
					ops[i].stream);
		if (!rc)
			rc = cuda->stream_wait(stream,
					       atomic_load(&face->join));
	}
	return rc;
}

/* Those streams, and whatever comes next, wait for the first. */
static int gt_launch_spread(struct gt_face *face,
			    const struct gt_launch_op *ops, uint32_t n,
			    struct gt_face_order *order)
{
	const struct gt_cuda *cuda = face->cuda;
	void *event = atomic_load(&order->event);
	int rc = cuda->event_record(event, ops[0].stream);

	for (uint32_t i = 1; !rc && i < n; i++)
		if (gt_launch_is_new(ops, i))
			rc = cuda->stream_wait(ops[i].stream, event);
	if (!rc && order->capture && face->has_graphs)
		rc = cuda->graph_record(ops[0].stream,
					atomic_load(&face->orders[0].event),
					&order->node);
	return rc;
}

static int gt_launch_enqueue(struct gt_face *face,
			     const struct gt_launch_op *ops, uint32_t n,
			     struct gt_err *err)
{
	struct gt_backend_op *list = calloc(n, sizeof(*list));
	int rc = list ? GT_OK : gt_err_nomem(err);

	for (uint32_t i = 0; !rc && i < n; i++)
		list[i] = ops[i].op;
	if (!rc)
		rc = face->ops->enqueue(face->comm, list, n, ops[0].stream,
					err);
	free(list);
	return rc;
}

/*
 * In their order, on the current device; an error of CUDA's or of `err`.  *put:
 * some may be on the streams.
 */
static int gt_launch_put(struct gt_face *face, const struct gt_launch_op *ops,
			 uint32_t n, int *put, struct gt_err *err)
{
	struct gt_face_order *order;
	int rc;

	pthread_mutex_lock(&face->mutex);
	rc = gt_launch_gather(face, ops, n, &order, err);
	*put = !rc && !err->code;
	if (*put && !gt_launch_enqueue(face, ops, n, err))
		rc = gt_launch_spread(face, ops, n, order);
	pthread_mutex_unlock(&face->mutex);
	return rc;
}

/* Operations of which some may be on the streams end the communicator. */
static gt_nccl_result gt_launch_fail(struct gt_face *face, int cuda_rc,
				     const struct gt_err *err, const char *call)
{
	char words[GT_FACE_TEXT_MAX];
	gt_nccl_result rc = cuda_rc                  ? GT_NCCL_CUDA_ERROR
			    : err->code == GT_EINPUT ? GT_NCCL_INVALID_USAGE
						     : GT_NCCL_SYSTEM_ERROR;

	if (cuda_rc)
		snprintf(words, sizeof(words), "%s: %s", call,
			 face->cuda->words(cuda_rc));
	else
		gt_err_words(err, words, sizeof(words));
	gt_face_fail(face, rc, words);
	return rc;
}

/* Makes the rank's GPU the current one; returns which was, or -1. */
static int gt_launch_enter(const struct gt_face *face)
{
	int device, before = face->cuda->device(&device) ? -1 : device;

	if (before != face->device)
		face->cuda->use_device(face->device);
	return before;
}

static void gt_launch_leave(const struct gt_face *face, int before)
{
	if (before >= 0 && before != face->device)
		face->cuda->use_device(before);
}

gt_nccl_result gt_launch_may_on(struct gt_face *face,
				const struct gt_launch_op *ops, uint32_t n,
				const char *call)
{
	int before = gt_launch_enter(face);
	gt_nccl_result rc = gt_launch_check_captures(face, ops, n, call);

	gt_launch_leave(face, before);
	return rc;
}

gt_nccl_result gt_launch(struct gt_face *face, const struct gt_launch_op *ops,
			 uint32_t n, const char *call)
{
	unsigned long long capture;
	struct gt_err err;
	int before, cuda_rc, put;

	gt_err_init(&err);
	before = gt_launch_enter(face);
	cuda_rc = gt_launch_put(face, ops, n, &put, &err);
	/* What was put into such a capture goes with it. */
	if (cuda_rc)
		gt_launch_find_capture(face, ops[0].stream, &capture, &err);
	gt_launch_leave(face, before);
	if (!cuda_rc && !err.code)
		return GT_NCCL_SUCCESS;
	return !put || err.code == GT_ENO
		       ? gt_launch_refuse(face, cuda_rc, &err, call)
		       : gt_launch_fail(face, cuda_rc, &err, call);
}
