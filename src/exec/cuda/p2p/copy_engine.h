/*
 * Blocks by copy engines, and reductions beside them.
 */
#ifndef GT_EXEC_CUDA_P2P_COPY_ENGINE_H
#define GT_EXEC_CUDA_P2P_COPY_ENGINE_H

#include "exec/cuda/device/state.h"

/* Make streams, events and scratch, unless they are there. */
int gt_cuda_ce_need(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);
void gt_cuda_ce_release(struct gt_engine *engine);

/* Put one rank's part on its streams; a cudaError_t. */
int gt_cuda_ce_launch(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank);

#endif
