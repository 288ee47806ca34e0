/*
 * Flows, as kernels/p2p.h tells: packets for small ones, direct stores or
 * through scratch for larger ones, all for one element type; and the
 * multiplication that goes before any.
 */
#include "kernels/p2p/direct.cuh"
#include "kernels/p2p/group.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/p2p/scratch_reduce.cuh"
#include "kernels/p2p/scratch_reduce_group.cuh"
#include "kernels/p2p/premul.cuh"
#include "kernels/p2p/single.cuh"
#include "kernels/device/type.cuh"

/*
 * There is a kernel for each operator, protocol and number of shots. avg is a
 * sum that the flow divides, premul a sum of inputs that were multiplied
 * before.
 */
static const void *const gt_packets_of[][2][2] = {
#define GT_PACKET_OF(R, P, two)                                                \
	(const void *)gt_packet<GT_C_TYPE, R<GT_C_TYPE>, P, two>
#define GT_PACKET(R)                                                           \
	{                                                                      \
		{GT_PACKET_OF(R, gt_ll, false), GT_PACKET_OF(R, gt_ll, true)}, \
		{                                                              \
			GT_PACKET_OF(R, gt_ll128, false),                      \
				GT_PACKET_OF(R, gt_ll128, true)                \
		}                                                              \
	}
	GT_PACKET(gt_sum), GT_PACKET(gt_prod), GT_PACKET(gt_min),
	GT_PACKET(gt_max), GT_PACKET(gt_sum),  GT_PACKET(gt_sum),
};

/* Operators other than sum are rare in groups, and group.cu has them. */
static const void *const gt_group_sums =
	(const void *)gt_packet_group<GT_C_TYPE, gt_sum<GT_C_TYPE>>;

static const void *const gt_directs_of[] = {
	(const void *)gt_direct<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_direct<GT_C_TYPE, gt_prod<GT_C_TYPE>>,
	(const void *)gt_direct<GT_C_TYPE, gt_min<GT_C_TYPE>>,
	(const void *)gt_direct<GT_C_TYPE, gt_max<GT_C_TYPE>>,
	(const void *)gt_direct<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_direct<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
};

static const void *const gt_pushes_of[] = {
	(const void *)gt_scratch<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_scratch<GT_C_TYPE, gt_prod<GT_C_TYPE>>,
	(const void *)gt_scratch<GT_C_TYPE, gt_min<GT_C_TYPE>>,
	(const void *)gt_scratch<GT_C_TYPE, gt_max<GT_C_TYPE>>,
	(const void *)gt_scratch<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_scratch<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
};

static const void *const gt_push_groups_of[] = {
	(const void *)gt_scratch_group<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_scratch_group<GT_C_TYPE, gt_prod<GT_C_TYPE>>,
	(const void *)gt_scratch_group<GT_C_TYPE, gt_min<GT_C_TYPE>>,
	(const void *)gt_scratch_group<GT_C_TYPE, gt_max<GT_C_TYPE>>,
	(const void *)gt_scratch_group<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
};

static_assert(sizeof(struct gt_scratch_group_args) <= 4096, "kernel arguments");

static_assert(GT_REDOP_SUM == 0 && GT_REDOP_PROD == 1 && GT_REDOP_MIN == 2 &&
		      GT_REDOP_MAX == 3 && GT_REDOP_AVG == 4 &&
		      GT_REDOP_PREMUL == 5,
	      "the tables are in the order of operators");

/*
 * All are loaded beforehand: a kernel that is loaded late may wait for one that
 * waits for it.
 */
extern "C" int GT_FOR_TYPE(gt_p2p_prepare)(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t rc = cudaFuncGetAttributes(&attributes, gt_group_sums);

	if (rc == cudaSuccess)
		rc = cudaFuncGetAttributes(&attributes,
					   (const void *)gt_scale<GT_C_TYPE>);
	for (int op = 0; rc == cudaSuccess && op < GT_REDOP_AVG; op++) {
		for (int k = 0; rc == cudaSuccess && k < 4; k++)
			rc = cudaFuncGetAttributes(
				&attributes, gt_packets_of[op][k / 2][k % 2]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   gt_directs_of[op]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   gt_pushes_of[op]);
		if (rc == cudaSuccess)
			rc = cudaFuncGetAttributes(&attributes,
						   gt_push_groups_of[op]);
	}
	return (int)rc;
}

extern "C" int GT_FOR_TYPE(gt_packet_run)(const struct gt_kernel_grid *grid,
					  int ll128,
					  const struct gt_packet_args *args)
{
	int two = (args->part.flow.flags & GT_P2P_SPREAD) != 0;

	return gt_p2p_launch(grid, gt_packets_of[grid->op][ll128 != 0][two],
			     args);
}

extern "C" int GT_FOR_TYPE(gt_group_run)(const struct gt_kernel_grid *grid,
					 const struct gt_group_args *args)
{
	return gt_p2p_launch(grid, gt_group_sums, args);
}

extern "C" int GT_FOR_TYPE(gt_direct_run)(const struct gt_kernel_grid *grid,
					  const struct gt_direct_args *args)
{
	return gt_p2p_launch(grid, gt_directs_of[grid->op], args);
}

extern "C" int GT_FOR_TYPE(gt_scratch_run)(const struct gt_kernel_grid *grid,
					   const struct gt_scratch_args *args)
{
	return gt_p2p_launch(grid, gt_pushes_of[grid->op], args);
}

extern "C" int GT_FOR_TYPE(gt_scratch_group_run)(
	const struct gt_kernel_grid *grid,
	const struct gt_scratch_group_args *args)
{
	return gt_p2p_launch(grid, gt_push_groups_of[grid->op], args);
}

extern "C" int GT_FOR_TYPE(gt_premul_run)(const struct gt_kernel_grid *grid,
					  const struct gt_premul_args *args)
{
	return gt_p2p_launch(grid, (const void *)gt_scale<GT_C_TYPE>, args);
}
