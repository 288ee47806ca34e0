/*
 * Multiplies a rank's input by its scalar into a buffer aside: whoever reads it
 * there, the rank or others, needs no scalar, and the product is rounded once.
 */
#ifndef GT_KERNELS_P2P_PREMUL_CUH
#define GT_KERNELS_P2P_PREMUL_CUH

#include "kernels/kernels.h"
#include "kernels/device/move.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/wait.cuh"

template <class T>
static __device__ __forceinline__ T gt_scalar_load(const struct gt_scalar *by)
{
	return *(const T *)(by->at ? by->at : &by->bits);
}

/*
 * Multiplies 16 bytes at a time where both buffers lie equally far from a
 * 16-byte boundary.
 */
template <class T>
__global__ void __launch_bounds__(GT_PREMUL_THREADS)
	gt_scale(const __grid_constant__ struct gt_premul_args args)
{
	const uint32_t per = 16 / sizeof(T);
	uint64_t all = (uint64_t)gridDim.x * blockDim.x;
	uint64_t self = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t head = (-(uint64_t)args.from & 15) / sizeof(T), packs;
	const T *from = (const T *)args.from;
	T *to = (T *)args.to, by;
	gt_pack<T> times;

	gt_launch_begins();
	by = gt_scalar_load<T>(&args.by);
	for (uint32_t e = 0; e < per; e++)
		times.at[e] = by;
	if (((uint64_t)from ^ (uint64_t)to) & 15 || head > args.count)
		head = args.count;
	packs = (args.count - head) / per;
	for (uint64_t i = self; i < packs; i += all) {
		uint64_t at = head + i * per;

		gt_pack_store((char *)(to + at),
			      gt_combine<T, gt_prod<T>>::packs(
				      gt_pack_load((const char *)(from + at)),
				      times.bits));
	}
	for (uint64_t i = self; i < args.count - packs * per; i += all) {
		uint64_t at = i < head ? i : i + packs * per;

		to[at] = gt_prod<T>::one(from[at], by);
	}
}

#endif
