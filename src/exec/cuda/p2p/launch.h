/*
 * Collectives between GPUs that all reach each other's memory.
 */
#ifndef GT_EXEC_CUDA_P2P_LAUNCH_H
#define GT_EXEC_CUDA_P2P_LAUNCH_H

#include "exec/cuda/device/state.h"

/* Make what engine->choice needs for the request, unless it is there. */
int gt_cuda_p2p_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err);

/* Put one rank's part of engine->choice on its stream; a cudaError_t. */
int gt_cuda_p2p_launch(const struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t rank);

/*
 * All ranks' streams wait for one another, so that what comes next begins
 * together; a cudaError_t.  To be called behind gt_cuda_p2p_open().
 */
int gt_cuda_p2p_barrier(const struct gt_engine *engine, enum gt_dtype dtype,
			uint32_t rank);

#endif
