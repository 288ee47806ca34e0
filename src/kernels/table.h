/*
 * The kernels of one element type, which interp/interp.cu and p2p/p2p.cu are
 * compiled to once per type, as module.c finds and launches them.
 */
#ifndef GT_KERNELS_TABLE_H
#define GT_KERNELS_TABLE_H

#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels of p2p flows, by operator; avg and premul are sums to them. */
struct gt_p2p_kernels {
	/* [op][LL128][two shots][adds in totals] */
	const void *packets[GT_NREDOPS][2][2][2];
	const void *directs[GT_NREDOPS];
	const void *scratches[GT_NREDOPS];
	const void *scratch_groups[GT_NREDOPS];
	const void *group; /* of packets, all of which are summed or moved */
	const void *premul;
};

#define GT_DTYPE(NAME, name, bytes)                                            \
	extern const void *const gt_interp_kernel_##NAME;                      \
	extern const struct gt_p2p_kernels gt_p2p_kernels_##NAME;
#include "base/dtype.def"

/* These take all types: p2p/group.cu and p2p/barrier.cu. */
extern const void *const gt_group_kernel;
extern const void *const gt_barrier_kernel;
extern const void *const gt_detour_kernel;

/*
 * Fill in how a grid is launched.  With `overlaps` the launch is set up while
 * the one before still runs; the kernel then calls gt_launch_begins() before it
 * reads what that one wrote.
 */
void gt_grid_config(const struct gt_kernel_grid *grid,
		    struct cudaLaunchConfig_st *config);

#ifdef __cplusplus
}
#endif

#endif
