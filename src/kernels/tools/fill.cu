/*
 * Test data on the device is written and compared as bits, so that one kernel
 * an element size serves all types.
 */
#include "kernels/kernels.h"

enum { GT_FILL_THREADS = 256, GT_FILL_BLOCKS = 1024 };

template <class U>
__global__ void gt_fill(const __grid_constant__ struct gt_kernel_data data)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x;
	uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	for (; i < data.count; i += step)
		((U *)data.data)[i] = (U)gt_pattern_input(
			&data.pattern, data.rank, data.first + i);
}

template <class U>
__global__ void gt_check(const __grid_constant__ struct gt_kernel_data data)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x;
	uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long wrong = 0;

	for (; i < data.count; i += step)
		wrong += ((const U *)data.data)[i] !=
			 (U)gt_kernel_wanted(&data, data.first + i);
	if (wrong)
		atomicAdd((unsigned long long *)data.wrong, wrong);
}

typedef void gt_data_kernel(struct gt_kernel_data);

static int gt_data_run(gt_data_kernel *kernel,
		       const struct gt_kernel_data *data, cudaStream_t stream)
{
	uint64_t blocks = (data->count + GT_FILL_THREADS - 1) / GT_FILL_THREADS;

	if (!blocks)
		return 0;
	if (blocks > GT_FILL_BLOCKS)
		blocks = GT_FILL_BLOCKS;
	kernel<<<(unsigned)blocks, GT_FILL_THREADS, 0, stream>>>(*data);
	return (int)cudaGetLastError();
}

static uint32_t gt_data_bytes(const struct gt_kernel_data *data)
{
	switch (data->pattern.dtype) {
#define GT_DTYPE(NAME, name, bytes)                                            \
	case GT_DTYPE_##NAME:                                                  \
		return bytes;
#include "base/dtype.def"
	}
	return 0;
}

extern "C" int gt_kernel_fill(const struct gt_kernel_data *data,
			      struct CUstream_st *stream)
{
	switch (gt_data_bytes(data)) {
	case 1:
		return gt_data_run(gt_fill<uint8_t>, data, stream);
	case 2:
		return gt_data_run(gt_fill<uint16_t>, data, stream);
	case 4:
		return gt_data_run(gt_fill<uint32_t>, data, stream);
	default:
		return gt_data_run(gt_fill<uint64_t>, data, stream);
	}
}

extern "C" int gt_kernel_check(const struct gt_kernel_data *data,
			       struct CUstream_st *stream)
{
	switch (gt_data_bytes(data)) {
	case 1:
		return gt_data_run(gt_check<uint8_t>, data, stream);
	case 2:
		return gt_data_run(gt_check<uint16_t>, data, stream);
	case 4:
		return gt_data_run(gt_check<uint32_t>, data, stream);
	default:
		return gt_data_run(gt_check<uint64_t>, data, stream);
	}
}
