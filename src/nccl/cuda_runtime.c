/* The run-time of the CUDA toolkit, which the library has in it. */
#include "nccl/cuda.h"

#include <cuda_runtime_api.h>

static const char *gt_runtime_words(int error)
{
	return cudaGetErrorString((cudaError_t)error);
}

static int gt_runtime_device(int *device)
{
	return (int)cudaGetDevice(device);
}

static int gt_runtime_devices(int *count)
{
	return (int)cudaGetDeviceCount(count);
}

static int gt_runtime_use_device(int device)
{
	return (int)cudaSetDevice(device);
}

static int gt_runtime_bus_id(int device, char bus_id[GT_CUDA_BUS_ID_MAX])
{
	return (int)cudaDeviceGetPCIBusId(bus_id, GT_CUDA_BUS_ID_MAX, device);
}

static int gt_runtime_event_new(void **event)
{
	return (int)cudaEventCreateWithFlags((cudaEvent_t *)event,
					     cudaEventDisableTiming);
}

static int gt_runtime_event_free(void *event)
{
	return (int)cudaEventDestroy(event);
}

static int gt_runtime_event_record(void *event, void *stream)
{
	return (int)cudaEventRecord(event, stream);
}

static int gt_runtime_event_pending(void *event, int *pending)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	cudaError_t rc;

	/* To ask would break a capture that another thread has under way. */
	cudaThreadExchangeStreamCaptureMode(&mode);
	rc = cudaEventQuery(event);
	cudaThreadExchangeStreamCaptureMode(&mode);
	*pending = rc == cudaErrorNotReady;
	return *pending ? 0 : (int)rc;
}

static int gt_runtime_stream_wait(void *stream, void *event)
{
	return (int)cudaStreamWaitEvent(stream, event, 0);
}

/* A capture, if the stream is in one, and what the next node would follow. */
struct gt_runtime_capture {
	enum cudaStreamCaptureStatus status;
	unsigned long long id;
	cudaGraph_t graph;
	const cudaGraphNode_t *last;
	size_t nlast;
};

static cudaError_t gt_runtime_find_capture(void *stream,
					   struct gt_runtime_capture *at)
{
#if CUDART_VERSION >= 13000
	const cudaGraphEdgeData *edges;

	return cudaStreamGetCaptureInfo(stream, &at->status, &at->id,
					&at->graph, &at->last, &edges,
					&at->nlast);
#else
	return cudaStreamGetCaptureInfo_v2(stream, &at->status, &at->id,
					   &at->graph, &at->last, &at->nlast);
#endif
}

/*
 * Drivers before 12.0 cannot tell, and leave an error to be asked for.  As with
 * events, a capture of another thread should not notice.
 */
static unsigned long long gt_runtime_stream_id(void *stream)
{
	unsigned long long id = 0;

#if CUDART_VERSION >= 12000
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

	cudaThreadExchangeStreamCaptureMode(&mode);
	if (cudaStreamGetId(stream, &id) != cudaSuccess) {
		cudaGetLastError();
		id = 0;
	}
	cudaThreadExchangeStreamCaptureMode(&mode);
#else
	(void)stream;
#endif
	return id;
}

/* The legacy stream is never captured, and must not be asked meanwhile. */
static int gt_runtime_stream_capture(void *stream, unsigned long long *id)
{
	struct gt_runtime_capture at = {.status = cudaStreamCaptureStatusNone};
	cudaError_t rc = cudaSuccess;

	if (stream && stream != cudaStreamLegacy)
		rc = gt_runtime_find_capture(stream, &at);
	*id = at.status == cudaStreamCaptureStatusActive ? at.id
	      : at.status == cudaStreamCaptureStatusInvalidated
		      ? GT_CUDA_INVALIDATED
		      : 0;
	return (int)rc;
}

static int gt_runtime_graph_wait(void *stream, void *event)
{
	return (int)cudaStreamWaitEvent(stream, event, cudaEventWaitExternal);
}

static cudaError_t gt_runtime_add_edge(cudaGraph_t graph, cudaGraphNode_t from,
				       cudaGraphNode_t to)
{
#if CUDART_VERSION >= 13000
	return cudaGraphAddDependencies(graph, &from, &to, NULL, 1);
#else
	return cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

/*
 * One node records the event, behind all of the graph's operations and beside
 * the stream, where it would keep the next kernel waiting.  Of two nodes nobody
 * could say which is the last.  An edge must not be there twice, hence the
 * empty node: an operation may have put nothing on the stream.
 */
static int gt_runtime_graph_record(void *stream, void *event, void **node)
{
	struct gt_runtime_capture at = {.status = cudaStreamCaptureStatusNone};
	cudaError_t rc = gt_runtime_find_capture(stream, &at);
	cudaGraphNode_t behind, record;

	if (!rc && at.status != cudaStreamCaptureStatusActive)
		rc = cudaErrorStreamCaptureInvalidated;
	if (!rc)
		rc = cudaGraphAddEmptyNode(&behind, at.graph, at.last,
					   at.nlast);
	if (!rc && *node)
		return (int)gt_runtime_add_edge(at.graph, behind, *node);
	if (!rc)
		rc = cudaGraphAddEventRecordNode(&record, at.graph, &behind, 1,
						 event);
	if (!rc)
		*node = record;
	return (int)rc;
}

static int gt_runtime_call(void *stream, void (*fn)(void *arg), void *arg)
{
	return (int)cudaLaunchHostFunc(stream, fn, arg);
}

static int gt_runtime_memory_new(void **memory, size_t bytes)
{
	return (int)cudaMalloc(memory, bytes);
}

static int gt_runtime_memory_free(void *memory)
{
	return (int)cudaFree(memory);
}

const struct gt_cuda gt_cuda_runtime = {
	.name = "CUDA",
	.own_stream = cudaStreamPerThread,
	.words = gt_runtime_words,
	.device = gt_runtime_device,
	.devices = gt_runtime_devices,
	.use_device = gt_runtime_use_device,
	.bus_id = gt_runtime_bus_id,
	.event_new = gt_runtime_event_new,
	.event_free = gt_runtime_event_free,
	.event_record = gt_runtime_event_record,
	.event_pending = gt_runtime_event_pending,
	.stream_wait = gt_runtime_stream_wait,
	.stream_id = gt_runtime_stream_id,
	.stream_capture = gt_runtime_stream_capture,
	.graph_wait = gt_runtime_graph_wait,
	.graph_record = gt_runtime_graph_record,
	.call = gt_runtime_call,
	.memory_new = gt_runtime_memory_new,
	.memory_free = gt_runtime_memory_free,
};
