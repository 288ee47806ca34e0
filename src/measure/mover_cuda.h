/*
 * The CUDA mover's files share this: a stream, two buffers and a flag on each
 * GPU, and pinned memory beside it.  Nothing waits for a whole device.
 */
#ifndef GT_MEASURE_MOVER_CUDA_H
#define GT_MEASURE_MOVER_CUDA_H

#include <cuda_runtime_api.h>

#include "measure/measure.h"

enum {
	GT_PEER_BYTES = 128 << 20, /* a copy's start costs less than 1% */
	GT_HOST_BYTES = 32 << 20,
};

struct gt_mover_gpu {
	int device;
	char bus_id[GT_MEASURED_ID_MAX];
	char *out, *in; /* GT_PEER_BYTES each */
	char *host;     /* GT_HOST_BYTES, pinned */
	uint64_t *flag; /* [0] of the ping, [1] its time */
	cudaStream_t stream;
	cudaEvent_t begin, end;
};

struct gt_mover {
	uint32_t ngpus;
	struct gt_mover_gpu *gpus;
	uint8_t *reach; /* [from * ngpus + to]: may write there */
	int64_t deadline_ns;
	int stuck; /* freeing would wait for ever */
};

/* mover_cuda_move.c: fail with "GPU 'BUS': cannot WHAT: ...", GT_ESYS. */
int gt_mover_fail(const struct gt_mover_gpu *gpu, cudaError_t rc,
		  const char *what, struct gt_err *err);

/* Wait until all that was enqueued before the GPU's end event is done. */
int gt_mover_wait(struct gt_mover *mover, const struct gt_mover_gpu *gpu,
		  const char *what, struct gt_err *err);

/* These are members of struct gt_mover_ops. */
int gt_mover_move(struct gt_mover *mover, const struct gt_transfer *moves,
		  uint32_t nmoves, double *gbs, struct gt_err *err);
int gt_mover_ping(struct gt_mover *mover, uint32_t a, uint32_t b, double *ns,
		  struct gt_err *err);

#endif
