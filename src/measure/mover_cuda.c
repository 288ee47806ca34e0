/*
 * The mover that CUDA is: which GPUs there are, and the memory, streams and
 * events that are measured with on each of them.
 */
#include "measure/mover_cuda.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "kernels/ping.h"

#define GT_MOVER_LIMIT_NS INT64_C(60000000000)

enum { GT_BIND_PREFERRED = 1 }; /* MPOL_PREFERRED, of mempolicy.h */

static void gt_mover_close(struct gt_mover *mover)
{
	if (!mover)
		return;
	for (uint32_t i = 0; i < mover->ngpus && !mover->stuck; i++) {
		struct gt_mover_gpu *gpu = &mover->gpus[i];

		cudaSetDevice(gpu->device);
		cudaFree(gpu->out);
		cudaFree(gpu->in);
		cudaFree(gpu->flag);
		cudaFreeHost(gpu->host);
		if (gpu->begin)
			cudaEventDestroy(gpu->begin);
		if (gpu->end)
			cudaEventDestroy(gpu->end);
		if (gpu->stream)
			cudaStreamDestroy(gpu->stream);
	}
	cudaGetLastError();
	free(mover->reach);
	free(mover->gpus);
	free(mover);
}

/*
 * Ask for host memory on a NUMA node.  Where that is not allowed, memory is
 * where it happens to be.
 */
static void gt_mover_bind(int numa)
{
	unsigned long nodes[16] = {0};
	const int bits = 8 * sizeof(nodes[0]);

	if (numa >= 0 && numa < 16 * bits) {
		nodes[numa / bits] = 1UL << numa % bits;
		syscall(SYS_set_mempolicy, GT_BIND_PREFERRED, nodes, 16 * bits);
	} else {
		syscall(SYS_set_mempolicy, 0, NULL, 0);
	}
}

/* Fill a buffer with bytes like any others, as zeros may travel faster. */
static void gt_mover_fill(char *bytes, size_t n)
{
	uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i + 8 <= n; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(bytes + i, &x, 8);
	}
}

static int gt_mover_allocate(struct gt_mover_gpu *gpu, struct gt_err *err)
{
	cudaError_t rc = cudaSetDevice(gpu->device);

	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_ping_prepare();
	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&gpu->stream,
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaEventCreate(&gpu->begin);
	if (rc == cudaSuccess)
		rc = cudaEventCreate(&gpu->end);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&gpu->out, GT_PEER_BYTES);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&gpu->in, GT_PEER_BYTES);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&gpu->flag, 2 * sizeof(*gpu->flag));
	if (rc == cudaSuccess)
		rc = cudaHostAlloc((void **)&gpu->host, GT_HOST_BYTES,
				   cudaHostAllocPortable);
	return rc == cudaSuccess
		       ? GT_OK
		       : gt_mover_fail(gpu, rc, "get memory to measure", err);
}

static int gt_mover_gpu_open(struct gt_mover *mover, struct gt_mover_gpu *gpu,
			     const struct gt_measured *known,
			     struct gt_err *err)
{
	uint32_t k = gt_measured_find(known, gpu->bus_id);
	cudaError_t rc;
	int bad;

	gt_mover_bind(k == UINT32_MAX ? -1 : known->gpus[k].numa);
	bad = gt_mover_allocate(gpu, err);
	gt_mover_bind(-1);
	if (bad)
		return bad;
	if (gpu == mover->gpus)
		gt_mover_fill(gpu->host, GT_HOST_BYTES);
	else
		memcpy(gpu->host, mover->gpus->host, GT_HOST_BYTES);
	rc = cudaSuccess;
	for (size_t at = 0; at < GT_PEER_BYTES && rc == cudaSuccess;
	     at += GT_HOST_BYTES)
		rc = cudaMemcpyAsync(gpu->out + at, gpu->host, GT_HOST_BYTES,
				     cudaMemcpyHostToDevice, gpu->stream);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(gpu->end, gpu->stream);
	if (rc != cudaSuccess)
		return gt_mover_fail(gpu, rc, "copy from the host", err);
	return gt_mover_wait(mover, gpu, "copying from the host", err);
}

/* Ask for access between GPUs.  Copies work without it, flags do not. */
static int gt_mover_reach(struct gt_mover *mover, uint32_t from, uint32_t to)
{
	int can = 0, device = mover->gpus[from].device;
	int other = mover->gpus[to].device;
	cudaError_t rc = cudaDeviceCanAccessPeer(&can, device, other);

	if (rc == cudaSuccess && can)
		rc = cudaSetDevice(device);
	if (rc == cudaSuccess && can)
		rc = cudaDeviceEnablePeerAccess(other, 0);
	cudaGetLastError();
	return can &&
	       (rc == cudaSuccess || rc == cudaErrorPeerAccessAlreadyEnabled);
}

/* Find the GPUs that CUDA has; a part of one (MIG) stands for the whole. */
static int gt_mover_find(struct gt_mover *mover, int ndevices,
			 struct gt_err *err)
{
	struct gt_mover_gpu *gpu = mover->gpus;
	cudaError_t rc;

	for (int d = 0; d < ndevices; d++) {
		gpu->device = d;
		rc = cudaDeviceGetPCIBusId(gpu->bus_id, sizeof(gpu->bus_id), d);
		if (rc != cudaSuccess)
			return gt_mover_fail(gpu, rc, "read its bus id", err);
		for (char *c = gpu->bus_id; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		mover->ngpus++;
		gpu++;
	}
	return GT_OK;
}

static int gt_mover_fit(struct gt_mover *mover, const struct gt_measured *known,
			int ndevices, struct gt_err *err)
{
	uint32_t n = (uint32_t)ndevices;
	int rc;

	mover->gpus = calloc(n, sizeof(*mover->gpus));
	mover->reach = calloc((size_t)n * n, 1);
	if (!mover->gpus || !mover->reach)
		return gt_err_nomem(err);
	rc = gt_mover_find(mover, ndevices, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = gt_mover_gpu_open(mover, &mover->gpus[i], known, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		for (uint32_t j = 0; j < n; j++)
			if (i != j)
				mover->reach[i * n + j] =
					(uint8_t)gt_mover_reach(mover, i, j);
	return rc;
}

static int gt_mover_open(const struct gt_measured *known,
			 struct gt_mover **mover, struct gt_err *err)
{
	struct gt_mover *made;
	int n = 0, rc;
	cudaError_t cuda = cudaGetDeviceCount(&n);

	if (cuda != cudaSuccess || n < 1) {
		cudaGetLastError();
		return gt_err_set(err, GT_ESYS, NULL, "no GPU to measure: %s",
				  cuda == cudaSuccess
					  ? "CUDA shows none"
					  : cudaGetErrorString(cuda));
	}
	made = calloc(1, sizeof(*made));
	if (!made)
		return gt_err_nomem(err);
	made->deadline_ns = gt_clock_ns() + GT_MOVER_LIMIT_NS;
	rc = gt_mover_fit(made, known, n, err);
	if (rc)
		gt_mover_close(made);
	else
		*mover = made;
	return rc;
}

static uint32_t gt_mover_ngpus(const struct gt_mover *mover)
{
	return mover->ngpus;
}

static const char *gt_mover_bus_id(const struct gt_mover *mover, uint32_t gpu)
{
	return mover->gpus[gpu].bus_id;
}

const struct gt_mover_ops gt_mover_cuda = {
	.open = gt_mover_open,
	.close = gt_mover_close,
	.ngpus = gt_mover_ngpus,
	.bus_id = gt_mover_bus_id,
	.move = gt_mover_move,
	.ping = gt_mover_ping,
};
