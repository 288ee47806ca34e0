/* How kernels of flows are put on a stream. */
#ifndef GT_KERNELS_DEVICE_LAUNCH_CUH
#define GT_KERNELS_DEVICE_LAUNCH_CUH

#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

/* Set up while the one before still runs: gt_launch_begins(). */
static inline int gt_p2p_launch(const struct gt_kernel_grid *grid,
				const void *kernel, const void *args)
{
	struct cudaLaunchConfig_st config = {};
	struct cudaLaunchAttribute_st overlap = {};
	void *list[] = {(void *)args};

	overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	overlap.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(grid->blocks);
	config.blockDim = dim3(grid->threads);
	config.stream = grid->stream;
	config.attrs = &overlap;
	config.numAttrs = grid->overlaps ? 1 : 0;
	return (int)cudaLaunchKernelExC(&config, kernel, list);
}

#endif
