/*
 * From the element type of a launch to the kernels that were compiled for it: the
 * only C here, so that callers need no CUDA C++.
 */
#include "kernels/kernels.h"

/* This one is in kernels/p2p/group.cu and takes all types. */
int gt_mixed_run(const struct gt_kernel_grid *grid,
		 const struct gt_group_args *args);

/*
 * These are in kernels/interp/interp.cu and kernels/p2p/p2p.cu, compiled once
 * per type.
 */
#define GT_DTYPE(NAME, name, bytes)                                            \
	int gt_interp_prepare_##NAME(uint32_t shared_bytes);                   \
	int gt_interp_run_##NAME(const struct gt_kernel_args *args,            \
				 struct CUstream_st *stream);                  \
	int gt_p2p_prepare_##NAME(void);                                       \
	int gt_packet_run_##NAME(const struct gt_kernel_grid *grid, int ll128, \
				 const struct gt_packet_args *args);           \
	int gt_group_run_##NAME(const struct gt_kernel_grid *grid,             \
				const struct gt_group_args *args);             \
	int gt_direct_run_##NAME(const struct gt_kernel_grid *grid,            \
				 const struct gt_direct_args *args);           \
	int gt_scratch_run_##NAME(const struct gt_kernel_grid *grid,           \
				  const struct gt_scratch_args *args);         \
	int gt_scratch_group_run_##NAME(                                       \
		const struct gt_kernel_grid *grid,                             \
		const struct gt_scratch_group_args *args);                     \
	int gt_premul_run_##NAME(const struct gt_kernel_grid *grid,            \
				 const struct gt_premul_args *args);
#include "base/dtype.def"

static const struct {
	int (*prepare)(uint32_t shared_bytes);
	int (*run)(const struct gt_kernel_args *args,
		   struct CUstream_st *stream);
	int (*p2p_prepare)(void);
	int (*packet_run)(const struct gt_kernel_grid *grid, int ll128,
			  const struct gt_packet_args *args);
	int (*group_run)(const struct gt_kernel_grid *grid,
			 const struct gt_group_args *args);
	int (*direct_run)(const struct gt_kernel_grid *grid,
			  const struct gt_direct_args *args);
	int (*scratch_run)(const struct gt_kernel_grid *grid,
			   const struct gt_scratch_args *args);
	int (*scratch_group_run)(const struct gt_kernel_grid *grid,
				 const struct gt_scratch_group_args *args);
	int (*premul_run)(const struct gt_kernel_grid *grid,
			  const struct gt_premul_args *args);
} gt_kernels[] = {
#define GT_DTYPE(NAME, name, bytes)                                            \
	{gt_interp_prepare_##NAME, gt_interp_run_##NAME,                       \
	 gt_p2p_prepare_##NAME,    gt_packet_run_##NAME,                       \
	 gt_group_run_##NAME,      gt_direct_run_##NAME,                       \
	 gt_scratch_run_##NAME,    gt_scratch_group_run_##NAME,                \
	 gt_premul_run_##NAME},
#include "base/dtype.def"
};

int gt_kernel_prepare(enum gt_dtype dtype, uint32_t shared_bytes)
{
	return gt_kernels[dtype].prepare(shared_bytes);
}

int gt_kernel_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		  struct CUstream_st *stream)
{
	return gt_kernels[dtype].run(args, stream);
}

int gt_p2p_prepare(enum gt_dtype dtype)
{
	return gt_kernels[dtype].p2p_prepare();
}

int gt_packet_run(const struct gt_kernel_grid *grid, int ll128,
		  const struct gt_packet_args *args)
{
	return gt_kernels[grid->dtype].packet_run(grid, ll128, args);
}

int gt_group_run(const struct gt_kernel_grid *grid,
		 const struct gt_group_args *args)
{
	return grid->dtype == GT_NDTYPES
		       ? gt_mixed_run(grid, args)
		       : gt_kernels[grid->dtype].group_run(grid, args);
}

int gt_direct_run(const struct gt_kernel_grid *grid,
		  const struct gt_direct_args *args)
{
	return gt_kernels[grid->dtype].direct_run(grid, args);
}

int gt_scratch_run(const struct gt_kernel_grid *grid,
		   const struct gt_scratch_args *args)
{
	return gt_kernels[grid->dtype].scratch_run(grid, args);
}

int gt_scratch_group_run(const struct gt_kernel_grid *grid,
			 const struct gt_scratch_group_args *args)
{
	return gt_kernels[grid->dtype].scratch_group_run(grid, args);
}

int gt_premul_run(const struct gt_kernel_grid *grid,
		  const struct gt_premul_args *args)
{
	return gt_kernels[grid->dtype].premul_run(grid, args);
}
