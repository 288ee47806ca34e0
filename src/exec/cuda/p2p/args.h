/*
 * Says what a rank does in a collective between GPUs that all reach each
 * other's memory, in the words of kernels/p2p.h.
 */
#ifndef GT_EXEC_CUDA_P2P_ARGS_H
#define GT_EXEC_CUDA_P2P_ARGS_H

#include "exec/cuda/device/state.h"

/* Say what the rank's part is by an algorithm, in one shot or two. */
struct gt_p2p gt_cuda_p2p_of(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     enum gt_algo algo, uint32_t rank);

/*
 * Would what comes replace what has yet to go, because the buffers are the
 * same?  Then the input is copied first.
 */
int gt_cuda_p2p_overwrites(const struct gt_exec_request *req);

/*
 * Fill in what every kernel of a rank needs to give up, and to say why it
 * waits.
 */
struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank);

#endif
