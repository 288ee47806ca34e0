/* How the kernels of p2p flows are put on a stream. */
#ifndef GT_KERNELS_DEVICE_LAUNCH_CUH
#define GT_KERNELS_DEVICE_LAUNCH_CUH

#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

/*
 * With `overlaps` the launch is set up while the one before still runs; the
 * kernel then calls gt_launch_begins() before it reads what that one wrote.
 */
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
