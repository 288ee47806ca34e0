/* What bench/beside puts beside products: the kernels of beside_kernels.cu. */
#ifndef GT_BENCH_BESIDE_H
#define GT_BENCH_BESIDE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many registers has a thread?  About 12, 48 and 105. */
enum beside_size { BESIDE_SLIM, BESIDE_MEDIUM, BESIDE_LARGE, BESIDE_SIZES };

struct beside_grid {
	uint32_t blocks, threads;
	cudaStream_t stream;
};

/* -1: CUDA does not tell. */
int gt_beside_registers(enum beside_size size);

/* Wait so long in all threads; `at` is memory of 8 KiB. */
cudaError_t gt_beside_wait(const struct beside_grid *grid,
			   enum beside_size size, float *at, uint64_t ns);

/* at[2][i] = at[0][i] + at[1][i]. */
cudaError_t gt_beside_add(const struct beside_grid *grid, void *const at[3],
			  uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
