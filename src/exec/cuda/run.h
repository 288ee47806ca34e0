/*
 * Requests in the engine's own buffers, timed: a host thread a rank.
 */
#ifndef GT_EXEC_CUDA_RUN_H
#define GT_EXEC_CUDA_RUN_H

#include "exec/cuda/device/state.h"

/* engine_ops.run. */
int gt_cuda_run(struct gt_engine *engine, const struct gt_exec_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err);

#endif
