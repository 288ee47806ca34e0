/*
 * The kernel for groups of operations of several types, or with operators other
 * than sum and avg.
 */
#include "kernels/p2p/any.cuh"
#include "kernels/p2p/group.cuh"
#include "kernels/device/launch.cuh"

static const void *const gt_mixed =
	(const void *)gt_packet_group<gt_byte, gt_any>;

extern "C" int gt_group_prepare(void)
{
	struct cudaFuncAttributes attributes;

	return (int)cudaFuncGetAttributes(&attributes, gt_mixed);
}

extern "C" int gt_mixed_run(const struct gt_kernel_grid *grid,
			    const struct gt_group_args *args)
{
	return gt_p2p_launch(grid, gt_mixed, args);
}
