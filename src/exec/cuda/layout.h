/* Sets where the slices of a request lie in its buffers. */
#ifndef GT_EXEC_CUDA_LAYOUT_H
#define GT_EXEC_CUDA_LAYOUT_H

#include "exec/cuda/device/state.h"

/* Connect the request's collective, set its layouts and load its kernels. */
int gt_cuda_layout_set(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);

#endif
