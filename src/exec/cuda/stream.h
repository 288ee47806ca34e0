/*
 * Requests on the callers' streams, in the callers' buffers.
 */
#ifndef GT_EXEC_CUDA_STREAM_H
#define GT_EXEC_CUDA_STREAM_H

#include "exec/engine.h"

/* engine_ops.async. */
extern const struct gt_async_ops gt_cuda_async;

#endif
