/*
 * Reductions by direct stores: each rank stores its blocks into the others'
 * scratch, in pieces, and they add them up there.
 */
#ifndef GT_EXEC_CUDA_P2P_SCRATCH_REDUCE_H
#define GT_EXEC_CUDA_P2P_SCRATCH_REDUCE_H

#include "exec/cuda/device/state.h"

int gt_scratch_reduce_launch(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     const struct gt_kernel_grid *grid, uint32_t rank);

/* How many bytes of scratch does a request take on each rank? */
uint64_t gt_scratch_reduce_bytes(const struct gt_engine *engine,
				 const struct gt_exec_request *req);

/* How many elements has a piece? */
uint64_t gt_scratch_reduce_piece(const struct gt_p2p *p2p, uint32_t blocks,
				 size_t elem_bytes);

#endif
