/*
 * Kernels of different sizes for bench/beside: some wait for a time, some add
 * up, as those of collectives do.
 */
#include <stdint.h>

#include "beside.h"

static __device__ uint64_t now_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/* N values that live through the wait make the number of registers. */
template <int N>
static __global__ void __launch_bounds__(512, 1)
	wait_for(float *at, uint64_t ns, int writes)
{
	uint64_t begin_ns = now_ns();
	float v[N];

#pragma unroll
	for (int i = 0; i < N; i++)
		v[i] = at[i * 7];
	do {
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = v[i] * 1.01f + v[(i + 1) % N];
	} while (now_ns() - begin_ns < ns);
#pragma unroll
	for (int i = 0; i < N; i++)
		if (writes)
			at[i + threadIdx.x] = v[i];
}

static __global__ void __launch_bounds__(512, 1)
	add(const float4 *a, const float4 *b, float4 *c, uint64_t packs)
{
	uint64_t step = gridDim.x * (uint64_t)blockDim.x;
	uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

	for (; i + 3 * step < packs; i += 4 * step) {
		float4 x[4], y[4];

#pragma unroll
		for (int u = 0; u < 4; u++) {
			x[u] = a[i + u * step];
			y[u] = b[i + u * step];
		}
#pragma unroll
		for (int u = 0; u < 4; u++)
			c[i + u * step] =
				make_float4(x[u].x + y[u].x, x[u].y + y[u].y,
					    x[u].z + y[u].z, x[u].w + y[u].w);
	}
	for (; i < packs; i += step)
		c[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y,
				   a[i].z + b[i].z, a[i].w + b[i].w);
}

static const void *const waits[BESIDE_SIZES] = {(const void *)wait_for<4>,
						(const void *)wait_for<40>,
						(const void *)wait_for<96>};

int gt_beside_registers(enum beside_size size)
{
	struct cudaFuncAttributes is;

	return cudaFuncGetAttributes(&is, waits[size]) == cudaSuccess
		       ? is.numRegs
		       : -1;
}

cudaError_t gt_beside_wait(const struct beside_grid *grid,
			   enum beside_size size, float *at, uint64_t ns)
{
	int writes = 0;
	void *args[] = {&at, &ns, &writes};

	return cudaLaunchKernel(waits[size], grid->blocks, grid->threads, args,
				0, grid->stream);
}

cudaError_t gt_beside_add(const struct beside_grid *grid, void *const at[3],
			  uint64_t bytes)
{
	add<<<grid->blocks, grid->threads, 0, grid->stream>>>(
		(const float4 *)at[0], (const float4 *)at[1], (float4 *)at[2],
		bytes / sizeof(float4));
	return cudaGetLastError();
}
