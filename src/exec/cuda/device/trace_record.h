/*
 * Notes what happens while a request is traced: kernels write marks into their
 * GPU's memory, and copies stand between events.  Where nothing is traced,
 * these functions do nothing.
 */
#ifndef GT_EXEC_CUDA_DEVICE_TRACE_RECORD_H
#define GT_EXEC_CUDA_DEVICE_TRACE_RECORD_H

#include "exec/cuda/device/state.h"
#include "exec/trace/p2p.h"

struct gt_cuda_copy {
	cudaEvent_t begin, end;
	struct gt_trace_transfer moved;
};

enum {
	GT_CUDA_KERNELS = GT_CUDA_CE_PIECES + 8, /* of one operation */
	GT_CUDA_COPIES = 4 * (GT_CUDA_CE_PIECES + GT_P2P_RANKS),
};

/*
 * The record of one rank, to which events are added while the rank is traced.
 */
struct gt_cuda_tracing {
	int64_t ahead_ns;             /* the GPU's clock against the host's */
	struct gt_kernel_mark *marks; /* on the device */
	size_t nmarks;
	uint32_t nkernels; /* p2p kernels, so far */
	int watched;       /* the last of them watches packets */
	uint64_t number;   /* of the next operation by packets */
	cudaStream_t watch;
	cudaEvent_t base; /* copies' events are timed from it */
	int64_t base_ns;  /* base/clock.h */
	uint32_t ncopies;
	struct gt_cuda_copy copies[GT_CUDA_COPIES];
};

/* Say where the interpreter of a rank notes; NULL: nothing is traced. */
struct gt_kernel_mark *gt_cuda_trace_blocks(const struct gt_engine *engine,
					    uint32_t rank);

/* Say where the rank's next p2p kernel notes; NULL: nothing is traced. */
struct gt_kernel_mark *gt_cuda_trace_kernel(const struct gt_engine *engine,
					    uint32_t rank);

/* To be called before the rank's packets are launched; a cudaError_t. */
int gt_cuda_trace_packets(const struct gt_engine *engine, uint32_t rank,
			  int ll128, const struct gt_packet_args *args);

/* To be called around a rank's copy on a stream; cudaError_ts. */
int gt_cuda_trace_copy_begin(const struct gt_engine *engine, uint32_t rank,
			     cudaStream_t stream, const char *to,
			     uint64_t bytes);
int gt_cuda_trace_copy_end(const struct gt_engine *engine, uint32_t rank,
			   cudaStream_t stream);

#endif
