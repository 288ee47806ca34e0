/*
 * Kernels of bench/ceiling that copy between a GPU and its host's memory.
 */
#ifndef GT_BENCH_CEILING_H
#define GT_BENCH_CEILING_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copy bytes, a multiple of 64 KiB, with so many blocks. */
cudaError_t gt_ceiling_copy(void *to, const void *from, size_t bytes,
			    unsigned blocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
