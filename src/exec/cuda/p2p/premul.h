/*
 * The pre-multiplied sum: each rank first writes its input, multiplied, into a
 * region of its own, and the sum takes it from there, however it goes.  Others
 * that read a rank's input need its scalar neither by value nor by address, and
 * every algorithm rounds alike: the product, then each addition.
 */
#ifndef GT_EXEC_CUDA_P2P_PREMUL_H
#define GT_EXEC_CUDA_P2P_PREMUL_H

#include "exec/cuda/device/state.h"

/* Make the memory and load the kernel, unless they are there. */
int gt_cuda_premul_need(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);

/* Multiply one rank's input on its stream; a cudaError_t. */
int gt_cuda_premul_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank);

#endif
