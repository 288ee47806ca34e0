/*
 * A run's trace on GPUs: kernels note times in their GPU's memory, by its own
 * clock, which is compared with the host's before; copies stand between events
 * (device/trace_record.h).  Only runs of one iteration are traced.
 */
#ifndef GT_EXEC_CUDA_TRACE_H
#define GT_EXEC_CUDA_TRACE_H

#include "exec/cuda/device/state.h"

/* Make room for what is noted, before a run with req->trace. */
int gt_cuda_trace_begin(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);

/* Add what was noted to the trace. */
int gt_cuda_trace_take(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);

/* Give the room back, also after a failure. */
void gt_cuda_trace_end(struct gt_engine *engine);

#endif
