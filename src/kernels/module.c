#include "kernels/kernels.h"

/* interp.cu, compiled once per type. */
#define GT_DTYPE(NAME, name, bytes)                                            \
	int gt_interp_prepare_##NAME(uint32_t shared_bytes);                   \
	int gt_interp_run_##NAME(const struct gt_kernel_args *args,            \
				 struct CUstream_st *stream);
#include "base/dtype.def"

static const struct {
	int (*prepare)(uint32_t shared_bytes);
	int (*run)(const struct gt_kernel_args *args,
		   struct CUstream_st *stream);
} gt_interps[] = {
#define GT_DTYPE(NAME, name, bytes)                                            \
	{gt_interp_prepare_##NAME, gt_interp_run_##NAME},
#include "base/dtype.def"
};

int gt_kernel_prepare(enum gt_dtype dtype, uint32_t shared_bytes)
{
	return gt_interps[dtype].prepare(shared_bytes);
}

int gt_kernel_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		  struct CUstream_st *stream)
{
	return gt_interps[dtype].run(args, stream);
}
