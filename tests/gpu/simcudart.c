/*
 * A SIMULATED run-time of CUDA, to link gtopo with in place of NVIDIA's: two
 * GPUs that reach each other, on which memory is the host's and nothing runs.
 * So results are not computed, and times mean nothing: it is there to let calls
 * fail.  It knows which streams are captured, and refuses what CUDA refuses of
 * them.
 *
 * SIM_CUDA_FAILS: the call of this number, from 1 on, fails.  SIM_CUDA_TOLD: a
 * file for the number of all calls and, behind it, how many of memory, streams,
 * events and graphs were made and not given back.  SIM_CUDA_APART: the GPUs do
 * not reach each other.
 */
#include "gpu/simcudart.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo

enum {
	SIM_GPUS = 2,
	SIM_PROCESSORS = 132,
	SIM_SHARED_BYTES = 232448,
	SIM_GPU_GIB = 8,
	SIM_SET_BYTES = 4096,   /* more is not set, to be quick */
	SIM_FIRST = 1 << 20,    /* handle of all that is made */
	SIM_HANDLES = 1 << 16,  /* that are told apart */
	SIM_CAPTURES = 1 << 10, /* at a time */
};

static const char *const sim_bus_ids[SIM_GPUS] = {"0000:1b:00.0",
						  "0000:43:00.0"};

static long sim_calls, sim_fails_at, sim_left;
static uintptr_t sim_handles = SIM_FIRST;
static _Thread_local int sim_device;

/* The captures of streams, and of what events were last recorded in. */
static struct {
	pthread_mutex_t mutex;
	unsigned long long last, streams[SIM_HANDLES], events[SIM_HANDLES];
	int is_invalid[SIM_CAPTURES];
	long fuse; /* commands until one is */
} sim_captured = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* An allocation, on a device. */
struct sim_memory {
	struct sim_memory *next;
	char *at;
	size_t bytes;
	int device;
};

static struct sim_memory *sim_memories;
static pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void sim_begin(void)
{
	const char *text = getenv("SIM_CUDA_FAILS");

	sim_fails_at = text ? atol(text) : 0;
}

__attribute__((destructor)) static void sim_tell(void)
{
	const char *path = getenv("SIM_CUDA_TOLD");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%ld %ld\n", sim_calls, sim_left);
	fclose(file);
}

/* Is it this call's turn to fail? */
static cudaError_t sim_call(cudaError_t failure)
{
	long number = __atomic_add_fetch(&sim_calls, 1, __ATOMIC_RELAXED);

	return number == sim_fails_at ? failure : cudaSuccess;
}

static cudaError_t sim_make(void *made, cudaError_t failure)
{
	cudaError_t rc = sim_call(failure);
	uintptr_t handle;

	if (rc != cudaSuccess)
		return rc;
	__atomic_add_fetch(&sim_left, 1, __ATOMIC_RELAXED);
	handle = __atomic_add_fetch(&sim_handles, 1, __ATOMIC_RELAXED);
	memcpy(made, &handle, sizeof(handle));
	return rc;
}

/* What cannot be given back is gone all the same. */
static cudaError_t sim_drop(const void *made)
{
	if (made)
		__atomic_sub_fetch(&sim_left, 1, __ATOMIC_RELAXED);
	return sim_call(cudaErrorUnknown);
}

static void *sim_memory_new(size_t bytes)
{
	struct sim_memory *made = malloc(sizeof(*made));

	if (!made)
		abort();
	*made = (struct sim_memory){
		.at = calloc(1, bytes), .bytes = bytes, .device = sim_device};
	pthread_mutex_lock(&sim_mutex);
	made->next = sim_memories;
	sim_memories = made;
	pthread_mutex_unlock(&sim_mutex);
	return made->at;
}

static void sim_memory_free(char *memory)
{
	struct sim_memory **at = &sim_memories, *gone;

	pthread_mutex_lock(&sim_mutex);
	while (*at && (*at)->at != memory)
		at = &(*at)->next;
	gone = *at;
	if (gone)
		*at = gone->next;
	pthread_mutex_unlock(&sim_mutex);
	free(gone);
	free(memory);
}

/* The device of an address; of what nobody has made the current one. */
static int sim_device_of(const char *address)
{
	const struct sim_memory *at;
	int device;

	pthread_mutex_lock(&sim_mutex);
	for (at = sim_memories; at; at = at->next)
		if (address >= at->at && address < at->at + at->bytes)
			break;
	device = at ? at->device : sim_device;
	pthread_mutex_unlock(&sim_mutex);
	return device;
}

static cudaError_t sim_allocate(void **at, size_t bytes)
{
	cudaError_t rc = sim_make(at, cudaErrorMemoryAllocation);

	if (rc == cudaSuccess)
		*at = sim_memory_new(bytes);
	return rc;
}

static cudaError_t sim_free(void *at)
{
	cudaError_t rc = sim_drop(at);

	if (at)
		sim_memory_free(at);
	return rc;
}

/* Captures. */

/* The place of a stream or an event in tables; 0: it is none of ours. */
static size_t sim_number(const void *handle)
{
	uintptr_t number = (uintptr_t)handle;

	return number <= SIM_FIRST ? 0 : number % SIM_HANDLES;
}

static unsigned long long sim_capture_of(cudaStream_t stream)
{
	unsigned long long id;

	pthread_mutex_lock(&sim_captured.mutex);
	id = sim_captured.streams[sim_number(stream)];
	pthread_mutex_unlock(&sim_captured.mutex);
	return id;
}

static void sim_capture_set(unsigned long long *table, const void *handle,
			    unsigned long long id)
{
	pthread_mutex_lock(&sim_captured.mutex);
	table[sim_number(handle)] = id;
	pthread_mutex_unlock(&sim_captured.mutex);
}

static int sim_is_invalid(unsigned long long id)
{
	return sim_captured.is_invalid[id % SIM_CAPTURES];
}

static void sim_invalidate(unsigned long long id)
{
	if (id)
		sim_captured.is_invalid[id % SIM_CAPTURES] = 1;
}

static enum cudaStreamCaptureStatus sim_status_of(cudaStream_t stream)
{
	unsigned long long id = sim_capture_of(stream);

	return !id                  ? cudaStreamCaptureStatusNone
	       : sim_is_invalid(id) ? cudaStreamCaptureStatusInvalidated
				    : cudaStreamCaptureStatusActive;
}

void sim_cuda_invalidate_at(long n)
{
	sim_captured.fuse = n;
}

/* Nothing more is put where a capture was invalidated. */
static cudaError_t sim_put(cudaStream_t stream)
{
	cudaError_t rc = sim_call(cudaErrorUnknown);
	unsigned long long id = sim_capture_of(stream);

	if (id && sim_captured.fuse && !--sim_captured.fuse)
		sim_invalidate(id);

	return rc == cudaSuccess && sim_status_of(stream) ==
					    cudaStreamCaptureStatusInvalidated
		       ? cudaErrorStreamCaptureInvalidated
		       : rc;
}

/* Nobody may ask how far a stream is that is captured. */
static cudaError_t sim_ask(cudaStream_t stream)
{
	unsigned long long id = sim_capture_of(stream);

	sim_invalidate(id);
	return id ? cudaErrorStreamCaptureUnsupported
		  : sim_call(cudaErrorUnknown);
}

/* Calls that do nothing here. */
#define SIM(name, ...)                                                         \
	cudaError_t CUDARTAPI name(__VA_ARGS__)                                \
	{                                                                      \
		return sim_call(cudaErrorUnknown);                             \
	}

/* Calls that say one thing. */
#define SIM_TELL(name, at, value, ...)                                         \
	cudaError_t CUDARTAPI name(__VA_ARGS__)                                \
	{                                                                      \
		*(at) = value;                                                 \
		return sim_call(cudaErrorUnknown);                             \
	}

/* Calls that ask how far a stream is. */
#define SIM_ASK(stream, name, ...)                                             \
	cudaError_t CUDARTAPI name(__VA_ARGS__)                                \
	{                                                                      \
		return sim_ask(stream);                                        \
	}

/* Calls that make a node of a graph, which is gone with it. */
#define SIM_MAKE_NODE(name, ...)                                               \
	cudaError_t CUDARTAPI name(__VA_ARGS__)                                \
	{                                                                      \
		*node = (cudaGraphNode_t)node;                                 \
		return sim_call(cudaErrorUnknown);                             \
	}

/* Calls that put something on a stream. */
#define SIM_ON(stream, name, ...)                                              \
	cudaError_t CUDARTAPI name(__VA_ARGS__)                                \
	{                                                                      \
		return sim_put(stream);                                        \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* What nvcc puts into objects. */
void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;

	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
}

void __cudaRegisterFunction(void **handle, const char *host, char *device,
			    const char *name, int limit, void *tid, void *bid,
			    void *block, void *grid, int *size)
{
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
				     void *stream)
{
	return 0;
}

SIM(__cudaPopCallConfiguration, dim3 *grid, dim3 *block, size_t *shared,
    void *stream)
SIM_ON(stream, __cudaLaunchKernel, void *kernel, dim3 grid, dim3 block,
       void **args, size_t shared, cudaStream_t stream)
SIM_TELL(__cudaGetKernel, kernel, (cudaKernel_t)(uintptr_t)function,
	 cudaKernel_t *kernel, const void *function)

/* Devices. */
SIM_TELL(cudaGetDeviceCount, count, SIM_GPUS, int *count)
SIM_TELL(cudaGetDevice, device, sim_device, int *device)
SIM_TELL(cudaSetDevice, &sim_device, device, int device)
SIM_TELL(cudaDeviceCanAccessPeer, can, !getenv("SIM_CUDA_APART"), int *can,
	 int from, int to)
SIM(cudaDeviceEnablePeerAccess, int peer, unsigned flags)
SIM(cudaDeviceSynchronize, void)
SIM_TELL(cudaDeviceGetStreamPriorityRange, most, -5, int *least, int *most)

cudaError_t cudaDeviceGetPCIBusId(char *id, int room, int device)
{
	snprintf(id, (size_t)room, "%s", sim_bus_ids[device]);
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	cudaError_t rc = sim_call(cudaErrorUnknown);

	for (int i = 0; rc == cudaSuccess && i < SIM_GPUS; i++)
		if (!strcmp(id, sim_bus_ids[i])) {
			*device = i;
			return cudaSuccess;
		}
	return rc == cudaSuccess ? cudaErrorInvalidValue : rc;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
	*free_bytes = *all = (size_t)SIM_GPU_GIB << 30;
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what,
				   int device)
{
	*value = what == cudaDevAttrMaxSharedMemoryPerBlockOptin
			 ? SIM_SHARED_BYTES
		 : what == cudaDevAttrMultiProcessorCount    ? SIM_PROCESSORS
		 : what == cudaDevAttrComputeCapabilityMajor ? 9
							     : 1;
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *of, int device)
{
	memset(of, 0, sizeof(*of));
	snprintf(of->name, sizeof(of->name), "a simulated GPU");
	of->multiProcessorCount = SIM_PROCESSORS;
	of->major = 9;
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *of, int device)
{
	return cudaGetDeviceProperties(of, device);
}

/* Memory. */
cudaError_t cudaMalloc(void **at, size_t bytes)
{
	return sim_allocate(at, bytes);
}

cudaError_t cudaFree(void *at)
{
	return sim_free(at);
}

cudaError_t cudaMallocHost(void **at, size_t bytes)
{
	return sim_allocate(at, bytes);
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
	return sim_allocate(at, bytes);
}

cudaError_t cudaFreeHost(void *at)
{
	return sim_free(at);
}

SIM(cudaHostRegister, void *at, size_t bytes, unsigned flags)
SIM(cudaHostUnregister, void *at)
SIM_TELL(cudaHostGetDevicePointer, at, host, void **at, void *host,
	 unsigned flags)
SIM(cudaIpcGetMemHandle, cudaIpcMemHandle_t *handle, void *at)
SIM(cudaIpcOpenMemHandle, void **at, cudaIpcMemHandle_t handle, unsigned flags)
SIM(cudaIpcCloseMemHandle, void *at)
SIM_ON(stream, cudaMemcpyPeerAsync, void *to, int there, const void *from,
       int here, size_t bytes, cudaStream_t stream)

/* What hosts read is copied; other bytes are nobody's. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
			    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (kind == cudaMemcpyDeviceToHost)
		memmove(to, from, bytes);
	return sim_put(stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
		       enum cudaMemcpyKind kind)
{
	memmove(to, from, bytes);
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes,
			    cudaStream_t stream)
{
	if (bytes <= SIM_SET_BYTES)
		memset(at, value, bytes);
	return sim_put(stream);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *of,
				     const void *at)
{
	*of = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice,
					     .device = sim_device_of(at)};
	return sim_call(cudaErrorUnknown);
}

/* Streams, events and graphs. */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned flags)
{
	return sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags,
					 int priority)
{
	return sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	sim_invalidate(sim_capture_of(stream));
	return sim_drop(stream);
}

SIM_TELL(cudaStreamGetPriority, priority, -5, cudaStream_t stream,
	 int *priority)

/* A GPU has ended a capture that was asked so. */
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	*id = (uintptr_t)stream;
	return sim_ask(stream);
}

cudaError_t cudaEventCreate(cudaEvent_t *made)
{
	return sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags)
{
	return sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return sim_drop(event);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
				   enum cudaStreamCaptureMode mode)
{
	cudaError_t rc = sim_call(cudaErrorUnknown);
	unsigned long long id;

	if (rc == cudaSuccess && sim_capture_of(stream))
		rc = cudaErrorIllegalState;
	if (rc != cudaSuccess)
		return rc;
	id = __atomic_add_fetch(&sim_captured.last, 1, __ATOMIC_RELAXED);
	sim_captured.is_invalid[id % SIM_CAPTURES] = 0;
	sim_capture_set(sim_captured.streams, stream, id);
	return cudaSuccess;
}

/* All that takes part in it does so no more. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *made)
{
	unsigned long long id = sim_capture_of(stream);

	*made = NULL;
	if (!id)
		return cudaErrorIllegalState;
	pthread_mutex_lock(&sim_captured.mutex);
	for (int i = 0; i < SIM_HANDLES; i++)
		if (sim_captured.streams[i] == id)
			sim_captured.streams[i] = 0;
	pthread_mutex_unlock(&sim_captured.mutex);
	return sim_is_invalid(id) ? cudaErrorStreamCaptureInvalidated
				  : sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return sim_drop(graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
				 unsigned long long flags)
{
	return sim_make(made, cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return sim_drop(exec);
}

SIM(cudaGraphUpload, cudaGraphExec_t exec, cudaStream_t stream)
SIM(cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream)
SIM_TELL(cudaStreamIsCapturing, status, sim_status_of(stream),
	 cudaStream_t stream, enum cudaStreamCaptureStatus *status)
SIM_ASK(stream, cudaStreamSynchronize, cudaStream_t stream)
SIM_ASK(stream, cudaStreamQuery, cudaStream_t stream)

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *status,
				     unsigned long long *id, cudaGraph_t *graph,
				     const cudaGraphNode_t **last,
				     const cudaGraphEdgeData **edges,
				     size_t *nlast)
{
	*status = sim_status_of(stream);
	if (id)
		*id = sim_capture_of(stream);
	if (graph)
		*graph = NULL;
	if (last)
		*last = NULL;
	if (edges)
		*edges = NULL;
	if (nlast)
		*nlast = 0;
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	cudaError_t rc = sim_put(stream);

	if (rc == cudaSuccess)
		sim_capture_set(sim_captured.events, event,
				sim_capture_of(stream));
	return rc;
}

/* A stream that waits for what is captured is captured from then on. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
				unsigned flags)
{
	unsigned long long own = sim_capture_of(stream);
	unsigned long long its = sim_captured.events[sim_number(event)];
	cudaError_t rc = sim_put(stream);

	if (rc != cudaSuccess || flags == cudaEventWaitExternal || own == its)
		return rc;
	if (!own && !sim_is_invalid(its)) {
		sim_capture_set(sim_captured.streams, stream, its);
		return rc;
	}
	sim_invalidate(own);
	sim_invalidate(its);
	return cudaErrorStreamCaptureIsolation;
}

SIM_MAKE_NODE(cudaGraphAddEmptyNode, cudaGraphNode_t *node, cudaGraph_t graph,
	      const cudaGraphNode_t *before, size_t n)
SIM_MAKE_NODE(cudaGraphAddEventRecordNode, cudaGraphNode_t *node,
	      cudaGraph_t graph, const cudaGraphNode_t *before, size_t n,
	      cudaEvent_t event)
SIM(cudaGraphAddDependencies, cudaGraph_t graph, const cudaGraphNode_t *from,
    const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t n)
SIM(cudaEventQuery, cudaEvent_t event)
SIM(cudaEventSynchronize, cudaEvent_t event)
SIM_TELL(cudaEventElapsedTime, ms, 1, float *ms, cudaEvent_t from,
	 cudaEvent_t to)
SIM(cudaThreadExchangeStreamCaptureMode, enum cudaStreamCaptureMode *mode)
SIM(cudaLaunchHostFunc, cudaStream_t stream, cudaHostFn_t function, void *arg)

/* Kernels. */
SIM_ON(stream, cudaLaunchKernel, const void *kernel, dim3 grid, dim3 block,
       void **args, size_t shared, cudaStream_t stream)
SIM_ON(config->stream, cudaLaunchKernelExC, const cudaLaunchConfig_t *config,
       const void *kernel, void **args)
SIM(cudaFuncSetAttribute, const void *kernel, enum cudaFuncAttribute what,
    int value)

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *of,
				  const void *kernel)
{
	*of = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024};
	return sim_call(cudaErrorUnknown);
}

/* The driver, of which there is nothing, and errors. */
cudaError_t cudaGetDriverEntryPointByVersion(
	const char *name, void **function, unsigned version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *found)
{
	*function = NULL;
	*found = cudaDriverEntryPointSymbolNotFound;
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t rc)
{
	return rc == cudaErrorMemoryAllocation ? "out of memory"
					       : "unknown error";
}
