/*
 * Copies by loads and stores of 16 bytes, four of them in flight a thread.
 */
#include "ceiling.h"

enum { THREADS = 512, PACKS = 4 };

static __global__ void __launch_bounds__(THREADS, 1)
	copy(uint4 *to, const uint4 *from, size_t packs)
{
	size_t step = (size_t)gridDim.x * THREADS;

	for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < packs;
	     i += PACKS * step) {
		uint4 v[PACKS];

#pragma unroll
		for (int k = 0; k < PACKS; k++)
			if (i + k * step < packs)
				v[k] = __ldcg(from + i + k * step);
#pragma unroll
		for (int k = 0; k < PACKS; k++)
			if (i + k * step < packs)
				to[i + k * step] = v[k];
	}
}

cudaError_t gt_ceiling_copy(void *to, const void *from, size_t bytes,
			    unsigned blocks, cudaStream_t stream)
{
	copy<<<blocks, THREADS, 0, stream>>>((uint4 *)to, (const uint4 *)from,
					     bytes / sizeof(uint4));
	return cudaGetLastError();
}
