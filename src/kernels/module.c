/*
 * From the element type of a launch to the kernels that were compiled for it,
 * and their launches: the only C here, so that callers need no CUDA C++.
 */
#include "kernels/kernels.h"

#include "kernels/table.h"

enum { GT_BARRIER_THREADS = 32 };

static const struct {
	const void *const *interp;
	const struct gt_p2p_kernels *p2p;
} gt_kernels[] = {
#define GT_DTYPE(NAME, name, bytes)                                            \
	{&gt_interp_kernel_##NAME, &gt_p2p_kernels_##NAME},
#include "base/dtype.def"
};

/*
 * All communicators of a process share a kernel, and one that is made later may
 * need less than another: so all that the device has is allowed.
 */
int gt_kernel_prepare(enum gt_dtype dtype, uint32_t shared_bytes)
{
	const void *kernel = *gt_kernels[dtype].interp;
	struct cudaFuncAttributes own;
	int device = 0, most = 0;
	cudaError_t rc = cudaGetDevice(&device);

	if (rc == cudaSuccess)
		rc = cudaFuncGetAttributes(&own, kernel);
	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(
			&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	if (rc != cudaSuccess)
		return (int)rc;
	most -= (int)own.sharedSizeBytes;
	if (most < (int)shared_bytes)
		return (int)cudaErrorInvalidValue;
	return (int)cudaFuncSetAttribute(
		kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

int gt_kernel_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		  struct CUstream_st *stream)
{
	const dim3 blocks = {args->nchannels * args->nworkers, 1, 1};
	const dim3 threads = {args->threads + GT_KERNEL_CONTROL_THREADS, 1, 1};
	void *list[] = {(void *)(uintptr_t)args};

	return (int)cudaLaunchKernel(*gt_kernels[dtype].interp, blocks, threads,
				     list, args->shared_bytes, stream);
}

/*
 * All are loaded beforehand: a kernel that is loaded late may wait for one that
 * waits for it.
 */
int gt_p2p_prepare(enum gt_dtype dtype)
{
	const struct gt_p2p_kernels *all = gt_kernels[dtype].p2p;
	struct cudaFuncAttributes attributes;
	cudaError_t rc = cudaFuncGetAttributes(&attributes, all->group);

	if (rc == cudaSuccess)
		rc = cudaFuncGetAttributes(&attributes, all->premul);
	for (int op = 0; rc == cudaSuccess && op < GT_REDOP_AVG; op++) {
		for (int k = 0; rc == cudaSuccess && k < 8; k++)
			rc = cudaFuncGetAttributes(
				&attributes,
				all->packets[op][k / 4][k / 2 % 2][k % 2]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   all->directs[op]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   all->scratches[op]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   all->scratch_groups[op]);
	}
	return (int)rc;
}

int gt_group_prepare(void)
{
	struct cudaFuncAttributes attributes;

	return (int)cudaFuncGetAttributes(&attributes, gt_group_kernel);
}

int gt_barrier_prepare(void)
{
	struct cudaFuncAttributes attributes;

	return (int)cudaFuncGetAttributes(&attributes, gt_barrier_kernel);
}

int gt_detour_prepare(void)
{
	struct cudaFuncAttributes attributes;

	return (int)cudaFuncGetAttributes(&attributes, gt_detour_kernel);
}

static const struct cudaLaunchAttribute_st gt_overlap = {
	.id = cudaLaunchAttributeProgrammaticStreamSerialization,
	.val = {.programmaticStreamSerializationAllowed = 1}};

void gt_grid_config(const struct gt_kernel_grid *grid,
		    struct cudaLaunchConfig_st *config)
{
	*config = (struct cudaLaunchConfig_st){
		.gridDim = {grid->blocks, 1, 1},
		.blockDim = {grid->threads, 1, 1},
		.stream = grid->stream,
		.attrs =
			(struct cudaLaunchAttribute_st *)(uintptr_t)&gt_overlap,
		.numAttrs = grid->overlaps ? 1 : 0};
}

int gt_packet_run(const struct gt_kernel_grid *grid, int ll128,
		  const struct gt_packet_args *args)
{
	const struct gt_p2p_kernels *all = gt_kernels[grid->dtype].p2p;
	const struct gt_p2p *flow = &args->part.flow;
	int two = (flow->flags & GT_P2P_SPREAD) != 0;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config,
					all->packets[grid->op][ll128 != 0][two]
						    [gt_p2p_needs_totals(flow)],
					list);
}

int gt_group_run(const struct gt_kernel_grid *grid,
		 const struct gt_group_args *args)
{
	const void *kernel = grid->dtype == GT_NDTYPES
				     ? gt_group_kernel
				     : gt_kernels[grid->dtype].p2p->group;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config, kernel, list);
}

int gt_direct_run(const struct gt_kernel_grid *grid,
		  const struct gt_direct_args *args)
{
	const struct gt_p2p_kernels *all = gt_kernels[grid->dtype].p2p;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config, all->directs[grid->op], list);
}

int gt_scratch_run(const struct gt_kernel_grid *grid,
		   const struct gt_scratch_args *args)
{
	const struct gt_p2p_kernels *all = gt_kernels[grid->dtype].p2p;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config, all->scratches[grid->op],
					list);
}

int gt_scratch_group_run(const struct gt_kernel_grid *grid,
			 const struct gt_scratch_group_args *args)
{
	const struct gt_p2p_kernels *all = gt_kernels[grid->dtype].p2p;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config, all->scratch_groups[grid->op],
					list);
}

int gt_premul_run(const struct gt_kernel_grid *grid,
		  const struct gt_premul_args *args)
{
	const struct gt_p2p_kernels *all = gt_kernels[grid->dtype].p2p;
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(grid, &config);
	return (int)cudaLaunchKernelExC(&config, all->premul, list);
}

int gt_barrier_run(const struct gt_barrier_args *args,
		   struct CUstream_st *stream)
{
	const struct gt_kernel_grid grid = {
		.blocks = 1, .threads = GT_BARRIER_THREADS, .stream = stream};
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(&grid, &config);
	return (int)cudaLaunchKernelExC(&config, gt_barrier_kernel, list);
}

int gt_detour_run(const struct gt_detour_args *args, struct CUstream_st *stream)
{
	const struct gt_kernel_grid grid = {
		.blocks = 1, .threads = GT_BARRIER_THREADS, .stream = stream};
	void *list[] = {(void *)(uintptr_t)args};
	struct cudaLaunchConfig_st config;

	gt_grid_config(&grid, &config);
	return (int)cudaLaunchKernelExC(&config, gt_detour_kernel, list);
}
