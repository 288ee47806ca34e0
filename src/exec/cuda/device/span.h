/* Says where a rank's data of a request lie. */
#ifndef GT_EXEC_CUDA_DEVICE_SPAN_H
#define GT_EXEC_CUDA_DEVICE_SPAN_H

#include "exec/cuda/device/state.h"

/* An input may begin behind any boundary of so many bytes, which a pack has. */
enum { GT_PREMUL_EDGE_BYTES = 16 };

struct gt_cuda_span {
	char *input, *output;
	uint64_t input_first, output_first; /* elements, in the whole buffer */
	uint64_t input_count, output_count; /* elements */
};

/* Find the rank's buffers, at the addresses that hold for a local rank. */
struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_exec_request *req,
				    uint32_t viewer, uint32_t rank);

/* Say where a local rank finds the rank's input after it was multiplied. */
char *gt_cuda_premul_input(const struct gt_engine *engine, const char *input,
			   uint32_t viewer, uint32_t rank);

#endif
