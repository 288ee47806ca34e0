/*
 * A SIMULATED run-time of CUDA, to link gtopo with in place of NVIDIA's: two
 * GPUs that reach each other, on which memory is the host's and nothing runs.
 * So results are not computed, and times mean nothing: it is there to let calls
 * fail.
 *
 * SIM_CUDA_FAILS: the call of this number, from 1 on, fails.  SIM_CUDA_TOLD: a
 * file for the number of all calls and, behind it, how many of memory, streams,
 * events and graphs were made and not given back.
 */
#include <cuda_runtime_api.h>
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
	SIM_SET_BYTES = 4096, /* more is not set, to be quick */
};

static const char *const sim_bus_ids[SIM_GPUS] = {"0000:1b:00.0",
						  "0000:43:00.0"};

static long sim_calls, sim_fails_at, sim_left;
static uintptr_t sim_handles = 1 << 20;
static _Thread_local int sim_device;

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

static cudaError_t sim_allocate(void **at, size_t bytes)
{
	cudaError_t rc = sim_make(at, cudaErrorMemoryAllocation);

	if (rc == cudaSuccess)
		*at = calloc(1, bytes);
	return rc;
}

static cudaError_t sim_free(void *at)
{
	cudaError_t rc = sim_drop(at);

	free(at);
	return rc;
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
SIM(__cudaLaunchKernel, void *kernel, dim3 grid, dim3 block, void **args,
    size_t shared, cudaStream_t stream)
SIM_TELL(__cudaGetKernel, kernel, (cudaKernel_t)(uintptr_t)function,
	 cudaKernel_t *kernel, const void *function)

/* Devices. */
SIM_TELL(cudaGetDeviceCount, count, SIM_GPUS, int *count)
SIM_TELL(cudaGetDevice, device, sim_device, int *device)
SIM_TELL(cudaSetDevice, &sim_device, device, int device)
SIM_TELL(cudaDeviceCanAccessPeer, can, 1, int *can, int from, int to)
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
SIM(cudaMemcpyPeerAsync, void *to, int there, const void *from, int here,
    size_t bytes, cudaStream_t stream)

/* What hosts read is copied; other bytes are nobody's. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
			    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (kind == cudaMemcpyDeviceToHost)
		memmove(to, from, bytes);
	return sim_call(cudaErrorUnknown);
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
	return sim_call(cudaErrorUnknown);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *of,
				     const void *at)
{
	*of = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice,
					     .device = sim_device};
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
	return sim_drop(stream);
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

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *made)
{
	return sim_make(made, cudaErrorMemoryAllocation);
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
SIM(cudaStreamBeginCapture, cudaStream_t stream,
    enum cudaStreamCaptureMode mode)
SIM_TELL(cudaStreamIsCapturing, status, cudaStreamCaptureStatusNone,
	 cudaStream_t stream, enum cudaStreamCaptureStatus *status)
SIM(cudaStreamSynchronize, cudaStream_t stream)
SIM(cudaStreamQuery, cudaStream_t stream)
SIM(cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event, unsigned flags)
SIM(cudaEventRecord, cudaEvent_t event, cudaStream_t stream)
SIM(cudaEventQuery, cudaEvent_t event)
SIM(cudaEventSynchronize, cudaEvent_t event)
SIM_TELL(cudaEventElapsedTime, ms, 1, float *ms, cudaEvent_t from,
	 cudaEvent_t to)
SIM(cudaThreadExchangeStreamCaptureMode, enum cudaStreamCaptureMode *mode)
SIM(cudaLaunchHostFunc, cudaStream_t stream, cudaHostFn_t function, void *arg)

/* Kernels. */
SIM(cudaLaunchKernel, const void *kernel, dim3 grid, dim3 block, void **args,
    size_t shared, cudaStream_t stream)
SIM(cudaLaunchKernelExC, const cudaLaunchConfig_t *config, const void *kernel,
    void **args)
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
