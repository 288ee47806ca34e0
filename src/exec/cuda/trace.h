/*
 * A run's trace on GPUs: kernels note times in their GPU's memory, by its own
 * clock, which is compared with the host's before; copies stand between events.
 * Only of one iteration.
 */
#ifndef GT_EXEC_CUDA_TRACE_H
#define GT_EXEC_CUDA_TRACE_H

#include "exec/cuda/engine.h"

/*
 * Around a run with req->trace: _begin makes room for what is noted, _take adds
 * it to the trace, _end is for failures, too.
 */
int gt_cuda_trace_begin(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);
int gt_cuda_trace_take(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);
void gt_cuda_trace_end(struct gt_engine *engine);

/* Where the interpreter of a rank notes; NULL: no trace. */
struct gt_kernel_mark *gt_cuda_trace_blocks(const struct gt_engine *engine,
					    uint32_t rank);

/* Where the rank's next kernel of a flow notes; NULL: no trace. */
struct gt_kernel_mark *gt_cuda_trace_kernel(const struct gt_engine *engine,
					    uint32_t rank);

/* Before the rank's packets are launched; a cudaError_t. */
int gt_cuda_trace_packets(const struct gt_engine *engine, uint32_t rank,
			  int ll128, const struct gt_packet_args *args);

/* Around a rank's copy on a stream; cudaError_ts. */
int gt_cuda_trace_copy_begin(const struct gt_engine *engine, uint32_t rank,
			     cudaStream_t stream, const char *to,
			     uint64_t bytes);
int gt_cuda_trace_copy_end(const struct gt_engine *engine, uint32_t rank,
			   cudaStream_t stream);

#endif
