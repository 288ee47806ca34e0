/*
 * The CUDA mover's work: it sends bytes and flags, waits for them, and says
 * what failed; and it takes the time.
 */
#include "measure/mover_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "kernels/ping.h"

#define GT_PING_LIMIT_NS UINT64_C(1000000000)

enum {
	GT_SPAN_US = 4000,
	GT_MAX_COPIES = 64,
	GT_TRIALS = 3,
	GT_PING_ROUNDS = 1000,
};

int gt_mover_fail(const struct gt_mover_gpu *gpu, cudaError_t rc,
		  const char *what, struct gt_err *err)
{
	cudaGetLastError();
	return gt_err_set(err, GT_ESYS, NULL, "GPU '%s': cannot %s: %s",
			  gpu->bus_id, what, cudaGetErrorString(rc));
}

int gt_mover_wait(struct gt_mover *mover, const struct gt_mover_gpu *gpu,
		  const char *what, struct gt_err *err)
{
	const struct timespec nap = {0, 20000};
	cudaError_t rc;

	while ((rc = cudaEventQuery(gpu->end)) == cudaErrorNotReady) {
		if (gt_clock_ns() > mover->deadline_ns) {
			mover->stuck = 1;
			return gt_err_set(err, GT_ESYS, NULL,
					  "GPU '%s': %s did not end in time",
					  gpu->bus_id, what);
		}
		nanosleep(&nap, NULL);
	}
	return rc == cudaSuccess ? GT_OK : gt_mover_fail(gpu, rc, what, err);
}

/* Find the GPU whose stream carries a move. */
static struct gt_mover_gpu *gt_mover_owner(const struct gt_mover *mover,
					   const struct gt_transfer *move)
{
	return &mover->gpus[move->from == GT_TRANSFER_HOST ? move->to
							   : move->from];
}

static size_t gt_transfer_bytes(const struct gt_transfer *move)
{
	return move->from == GT_TRANSFER_HOST || move->to == GT_TRANSFER_HOST
		       ? GT_HOST_BYTES
		       : GT_PEER_BYTES;
}

static cudaError_t gt_mover_copy(const struct gt_mover *mover,
				 const struct gt_transfer *move)
{
	struct gt_mover_gpu *gpu = gt_mover_owner(mover, move), *to;

	if (move->from == GT_TRANSFER_HOST)
		return cudaMemcpyAsync(gpu->in, gpu->host, GT_HOST_BYTES,
				       cudaMemcpyHostToDevice, gpu->stream);
	if (move->to == GT_TRANSFER_HOST)
		return cudaMemcpyAsync(gpu->host, gpu->out, GT_HOST_BYTES,
				       cudaMemcpyDeviceToHost, gpu->stream);
	to = &mover->gpus[move->to];
	return cudaMemcpyPeerAsync(to->in, to->device, gpu->out, gpu->device,
				   GT_PEER_BYTES, gpu->stream);
}

/*
 * Enqueue all moves, counts[] copies each, taking turns so that all begin at
 * once.
 */
static int gt_mover_enqueue(struct gt_mover *mover,
			    const struct gt_transfer *moves, uint32_t n,
			    const uint32_t *counts, struct gt_err *err)
{
	for (uint32_t c = 0; c <= GT_MAX_COPIES; c++)
		for (uint32_t i = 0; i < n; i++) {
			struct gt_mover_gpu *gpu =
				gt_mover_owner(mover, &moves[i]);
			cudaError_t rc = cudaSuccess;

			if (c > counts[i])
				continue;
			rc = cudaSetDevice(gpu->device);
			if (!c && rc == cudaSuccess)
				rc = cudaEventRecord(gpu->begin, gpu->stream);
			if (c < counts[i] && rc == cudaSuccess)
				rc = gt_mover_copy(mover, &moves[i]);
			else if (rc == cudaSuccess)
				rc = cudaEventRecord(gpu->end, gpu->stream);
			if (rc != cudaSuccess)
				return gt_mover_fail(gpu, rc, "copy", err);
		}
	return GT_OK;
}

static int gt_mover_trial(struct gt_mover *mover,
			  const struct gt_transfer *moves, uint32_t n,
			  const uint32_t *counts, double *gbs,
			  struct gt_err *err)
{
	int rc = gt_mover_enqueue(mover, moves, n, counts, err);

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct gt_mover_gpu *gpu = gt_mover_owner(mover, &moves[i]);
		float ms = 0;

		rc = gt_mover_wait(mover, gpu, "copying", err);
		if (!rc && cudaEventElapsedTime(&ms, gpu->begin, gpu->end) !=
				   cudaSuccess)
			rc = gt_mover_fail(gpu, cudaGetLastError(),
					   "take the time", err);
		gbs[i] = ms > 0 ? (double)gt_transfer_bytes(&moves[i]) *
					  counts[i] / ms / 1e6
				: 0;
	}
	return rc;
}

/* How many copies last for the span, at the rate that one of them has? */
static uint32_t gt_mover_copies(const struct gt_transfer *move, double gbs)
{
	double copies =
		gbs * 1e3 * GT_SPAN_US / (double)gt_transfer_bytes(move) + 1;

	return copies < GT_MAX_COPIES ? (uint32_t)copies : GT_MAX_COPIES;
}

int gt_mover_move(struct gt_mover *mover, const struct gt_transfer *moves,
		  uint32_t nmoves, double *gbs, struct gt_err *err)
{
	uint32_t *counts = calloc(nmoves, sizeof(*counts));
	double *trial = calloc(nmoves, sizeof(*trial)), sum, best = 0;
	int rc = GT_OK;

	if (!counts || !trial)
		rc = gt_err_nomem(err);
	for (uint32_t i = 0; i < nmoves && !rc; i++)
		counts[i] = 1;
	if (!rc)
		rc = gt_mover_trial(mover, moves, nmoves, counts, trial, err);
	for (uint32_t i = 0; i < nmoves && !rc; i++)
		counts[i] = gt_mover_copies(&moves[i], trial[i]);
	for (int t = 0; t < GT_TRIALS && !rc; t++) {
		rc = gt_mover_trial(mover, moves, nmoves, counts, trial, err);
		sum = 0;
		for (uint32_t i = 0; i < nmoves; i++)
			sum += trial[i];
		if (rc || sum <= best)
			continue;
		best = sum;
		memcpy(gbs, trial, nmoves * sizeof(*gbs));
	}
	free(counts);
	free(trial);
	return rc;
}

static int gt_mover_ping_start(struct gt_mover_gpu *gpu,
			       const struct gt_mover_gpu *other, uint32_t first,
			       struct gt_err *err)
{
	struct gt_ping ping = {
		.mine = gpu->flag,
		.theirs = other->flag,
		.ns = gpu->flag + 1,
		.limit_ns = GT_PING_LIMIT_NS,
		.rounds = GT_PING_ROUNDS,
		.first = first,
	};
	cudaError_t rc = cudaSetDevice(gpu->device);

	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_ping_run(&ping, gpu->stream);
	if (rc == cudaSuccess)
		rc = cudaMemcpyAsync(gpu->host, gpu->flag,
				     2 * sizeof(*gpu->flag),
				     cudaMemcpyDeviceToHost, gpu->stream);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(gpu->end, gpu->stream);
	return rc == cudaSuccess ? GT_OK
				 : gt_mover_fail(gpu, rc, "send a flag", err);
}

static int gt_mover_ping_clear(struct gt_mover *mover, struct gt_mover_gpu *gpu,
			       struct gt_err *err)
{
	cudaError_t rc = cudaSetDevice(gpu->device);

	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(gpu->flag, 0, 2 * sizeof(*gpu->flag),
				     gpu->stream);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(gpu->end, gpu->stream);
	if (rc != cudaSuccess)
		return gt_mover_fail(gpu, rc, "clear a flag", err);
	return gt_mover_wait(mover, gpu, "clearing a flag", err);
}

int gt_mover_ping(struct gt_mover *mover, uint32_t a, uint32_t b, double *ns,
		  struct gt_err *err)
{
	struct gt_mover_gpu *first = &mover->gpus[a], *second = &mover->gpus[b];
	uint64_t result[2];
	int rc;

	*ns = 0;
	if (!mover->reach[a * mover->ngpus + b] ||
	    !mover->reach[b * mover->ngpus + a])
		return GT_OK;
	rc = gt_mover_ping_clear(mover, first, err);
	if (!rc)
		rc = gt_mover_ping_clear(mover, second, err);
	if (!rc)
		rc = gt_mover_ping_start(second, first, 0, err);
	if (!rc)
		rc = gt_mover_ping_start(first, second, 1, err);
	if (!rc)
		rc = gt_mover_wait(mover, second, "answering a flag", err);
	if (!rc)
		rc = gt_mover_wait(mover, first, "sending a flag", err);
	if (rc)
		return rc;
	memcpy(result, first->host, sizeof(result));
	if (!result[1])
		return gt_err_set(err, GT_ESYS, NULL,
				  "GPU '%s': GPU '%s' does not answer its flag",
				  first->bus_id, second->bus_id);
	*ns = (double)result[1] / GT_PING_ROUNDS / 2;
	return GT_OK;
}
