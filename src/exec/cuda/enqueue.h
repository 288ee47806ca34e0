/*
 * One request on the ranks' streams, by whatever it was chosen to go.
 */
#ifndef GT_EXEC_CUDA_ENQUEUE_H
#define GT_EXEC_CUDA_ENQUEUE_H

#include "exec/cuda/device/state.h"

/* Choose how a request goes and make what that needs, unless it is there. */
int gt_cuda_prepare(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);

/*
 * Processes come from a meeting at different times.  Can their GPUs wait for
 * one another before the clocks start?
 */
int gt_cuda_starts_together(const struct gt_engine *engine);

/* Put one rank's part on its stream; a cudaError_t. */
int gt_cuda_enqueue(const struct gt_engine *engine,
		    const struct gt_exec_request *req, uint32_t rank);

#endif
