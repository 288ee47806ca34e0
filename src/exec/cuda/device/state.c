/* Says what CUDA could not do, and on which rank. */
#include "exec/cuda/device/state.h"

#include "base/err.h"

int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err)
{
	cudaGetLastError();
	return gt_err_set(err, GT_ESYS, NULL, "rank %u (%s): cannot %s: %s",
			  rank, engine->plan->ranks[rank].device, what,
			  cudaGetErrorString((cudaError_t)code));
}
