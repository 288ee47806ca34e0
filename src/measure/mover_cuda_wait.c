/* The CUDA mover's messages when a GPU fails, and its wait for one. */
#include "measure/mover_cuda.h"

#include <time.h>

#include "base/clock.h"
#include "base/err.h"

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
