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

/* Find the rank's flags, as a local rank sees them. */
uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank);

/*
 * Of a protocol's buffer a sender has gt_cuda_ll_buffer_bytes() for operations
 * of one parity: one shot may use all, each of two shots a part.  A rank's
 * buffer begins at gt_cuda_ll_buffer_at(), as a local rank sees it.
 */
uint64_t gt_cuda_ll_part_bytes(int ll128);
uint64_t gt_cuda_ll_buffer_bytes(int ll128);
char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128);

#endif
