/* Messages: launches of the kernel in exchange.cuh. */
#include "kernels/sendrecv/exchange.cuh"

#include <string.h>

#include "kernels/device/launch.cuh"

enum : uint32_t {
	GT_EXCHANGE_FEW = 144,   /* arguments below 4 KiB */
	GT_EXCHANGE_MANY = 1340, /* below 32 KiB */
};

static_assert(sizeof(gt_exchange_table<GT_EXCHANGE_FEW>) <= 4096 &&
		      sizeof(gt_exchange_table<GT_EXCHANGE_MANY>) <= 32764,
	      "kernel arguments");

template <uint32_t N>
static int gt_exchange_launch(uint32_t blocks, struct CUstream_st *stream,
			      const struct gt_exchange_args *args,
			      const struct gt_kernel_message *messages)
{
	struct gt_kernel_grid grid = {};
	gt_exchange_table<N> table;

	grid.blocks = blocks;
	grid.threads = GT_EXCHANGE_THREADS;
	grid.overlaps = 1;
	grid.stream = stream;
	table.args = *args;
	memcpy(table.messages, messages, args->n * sizeof(*messages));
	return gt_flow_launch(&grid, (const void *)gt_exchange<N>, &table);
}

/* Large arguments came with CUDA 12.1. */
#if CUDART_VERSION >= 12010
#define GT_EXCHANGE_MOST GT_EXCHANGE_MANY
#else
#define GT_EXCHANGE_MOST GT_EXCHANGE_FEW
#endif

extern "C" int gt_exchange_prepare(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t rc;

	rc = cudaFuncGetAttributes(&attributes,
				   (const void *)gt_exchange<GT_EXCHANGE_FEW>);
	if (rc == cudaSuccess)
		rc = cudaFuncGetAttributes(
			&attributes,
			(const void *)gt_exchange<GT_EXCHANGE_MOST>);
	return (int)rc;
}

extern "C" uint32_t gt_exchange_most(void)
{
	return GT_EXCHANGE_MOST;
}

extern "C" int gt_exchange_run(uint32_t blocks, struct CUstream_st *stream,
			       const struct gt_exchange_args *args,
			       const struct gt_kernel_message *messages)
{
	return args->n <= GT_EXCHANGE_FEW
		       ? gt_exchange_launch<GT_EXCHANGE_FEW>(blocks, stream,
							     args, messages)
		       : gt_exchange_launch<GT_EXCHANGE_MOST>(blocks, stream,
							      args, messages);
}
