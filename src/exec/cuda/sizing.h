/* Chooses how many workers, slots and bytes of a slice FIFOs have. */
#ifndef GT_EXEC_CUDA_SIZING_H
#define GT_EXEC_CUDA_SIZING_H

#include "exec/cuda/device/state.h"

/* Make all choices that the caller left open; GT_EINPUT for wrong ones. */
int gt_cuda_sizes_choose(struct gt_engine *engine, struct gt_err *err);

/* Choose the best slicing for a request, within what FIFOs have room for. */
struct gt_cuda_slicing gt_cuda_slicing_of(const struct gt_engine *engine,
					  const struct gt_exec_request *req);

#endif
