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

/* The legacy stream is never captured, and must not be asked meanwhile. */
static int gt_runtime_stream_capture(void *stream, unsigned long long *id)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	cudaError_t rc = cudaSuccess;

	*id = 0;
	if (stream && stream != cudaStreamLegacy)
#if CUDART_VERSION >= 13000
		rc = cudaStreamGetCaptureInfo(stream, &status, id, NULL, NULL,
					      NULL, NULL);
#else
		rc = cudaStreamGetCaptureInfo_v2(stream, &status, id, NULL,
						 NULL, NULL);
#endif
	if (status != cudaStreamCaptureStatusActive)
		*id = 0;
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
	.stream_capture = gt_runtime_stream_capture,
	.call = gt_runtime_call,
	.memory_new = gt_runtime_memory_new,
	.memory_free = gt_runtime_memory_free,
};
