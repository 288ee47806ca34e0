/* Launches of the kernel in sendrecv.cuh, which carries messages. */
#include "kernels/sendrecv/sendrecv.cuh"

#include <string.h>

#include "kernels/table.h"

enum : uint32_t {
	GT_SENDRECV_FEW = 144,   /* arguments below 4 KiB */
	GT_SENDRECV_MANY = 1340, /* below 32 KiB */
};

static_assert(sizeof(gt_sendrecv_table<GT_SENDRECV_FEW>) <= 4096 &&
		      sizeof(gt_sendrecv_table<GT_SENDRECV_MANY>) <= 32764,
	      "kernel arguments");

template <uint32_t N>
static int gt_sendrecv_launch(struct gt_kernel_grid grid,
			      const struct gt_sendrecv_args *args,
			      const struct gt_kernel_message *messages)
{
	struct cudaLaunchConfig_st config;
	gt_sendrecv_table<N> table;
	void *list[] = {&table};

	grid.threads = GT_SENDRECV_THREADS;
	table.args = *args;
	memcpy(table.messages, messages, args->n * sizeof(*messages));
	gt_grid_config(&grid, &config);
	return (int)cudaLaunchKernelExC(&config, (const void *)gt_sendrecv<N>,
					list);
}

/* Kernel arguments of more than 4 KiB came with CUDA 12.1. */
#if CUDART_VERSION >= 12010
#define GT_SENDRECV_MOST GT_SENDRECV_MANY
#else
#define GT_SENDRECV_MOST GT_SENDRECV_FEW
#endif

extern "C" int gt_sendrecv_prepare(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t rc;

	rc = cudaFuncGetAttributes(&attributes,
				   (const void *)gt_sendrecv<GT_SENDRECV_FEW>);
	if (rc == cudaSuccess)
		rc = cudaFuncGetAttributes(
			&attributes,
			(const void *)gt_sendrecv<GT_SENDRECV_MOST>);
	return (int)rc;
}

extern "C" uint32_t gt_sendrecv_most(void)
{
	return GT_SENDRECV_MOST;
}

extern "C" int gt_sendrecv_run(const struct gt_kernel_grid *grid,
			       const struct gt_sendrecv_args *args,
			       const struct gt_kernel_message *messages)
{
	return args->n <= GT_SENDRECV_FEW
		       ? gt_sendrecv_launch<GT_SENDRECV_FEW>(*grid, args,
							     messages)
		       : gt_sendrecv_launch<GT_SENDRECV_MOST>(*grid, args,
							      messages);
}
