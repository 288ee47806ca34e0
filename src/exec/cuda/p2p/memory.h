/*
 * Buffers for packets, flags and kernels, which all p2p requests share.
 */
#ifndef GT_EXEC_CUDA_P2P_MEMORY_H
#define GT_EXEC_CUDA_P2P_MEMORY_H

#include "exec/cuda/device/state.h"

/* Make buffers and flags and load the type's kernels, unless they are there. */
int gt_cuda_p2p_open(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);
int gt_cuda_p2p_load(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);
void gt_cuda_p2p_release(struct gt_engine *engine);

/* Do the request's packets fit in the buffers, if it goes so? */
int gt_cuda_p2p_fits(const struct gt_engine *engine,
		     const struct gt_exec_request *req,
		     const struct gt_algo_choice *choice);

/* The rank's flags, as a local rank sees them. */
uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank);

/*
 * A protocol's buffer: how much a sender has of it for operations of one
 * parity, of which one shot may use all and each of two shots a half; and
 * where a rank's begins, as a local rank sees it.
 */
uint64_t gt_cuda_ll_part_bytes(int ll128);
uint64_t gt_cuda_ll_buffer_bytes(int ll128);
char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128);

#endif
