/* Makes room on a GPU for slots that a network card writes by itself. */
#include "exec/cuda/device/host_memory.h"

#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/state.h"

enum {
	/*
	 * Slots have an allocation of their own, which begins with a page of
	 * any size.
	 */
	GT_GDR_PAGE_BYTES = 2 << 20,
};

static cudaError_t gt_gdr_make(int device, struct gt_link_device_memory *memory)
{
	int ordering = 0;
	cudaError_t rc = cudaDeviceGetPCIBusId(memory->bus_id,
					       sizeof(memory->bus_id), device);

	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&memory->base, memory->bytes);
	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(
			&ordering, cudaDevAttrGPUDirectRDMAWritesOrdering,
			device);
	memory->is_ordered = ordering >= cudaGPUDirectRDMAWritesOrderingOwner;
	return rc;
}

int gt_cuda_gdr_new(void *arg, uint32_t rank, uint64_t bytes,
		    struct gt_link_device_memory *memory, struct gt_err *err)
{
	const struct gt_engine *engine = arg;
	uint64_t pages = (bytes + GT_GDR_PAGE_BYTES - 1) / GT_GDR_PAGE_BYTES;
	struct gt_link_device_memory made = {.bytes = pages * GT_GDR_PAGE_BYTES,
					     .dmabuf = -1};
	int device = engine->ranks[rank].device;
	cudaError_t rc = cudaSetDevice(device);

	if (rc == cudaSuccess)
		rc = gt_gdr_make(device, &made);
	if (rc != cudaSuccess) {
		gt_cuda_gdr_free(arg, rank, &made);
		return gt_cuda_fail(engine, rank, (int)rc,
				    "make room for slots", err);
	}
	/* Older kernels and drivers have none; the module peermem may do. */
	if (gt_cuda_dmabuf_of((struct gt_cuda_extent){made.base, made.bytes},
			      &made.dmabuf) != cudaSuccess)
		made.dmabuf = -1;
	*memory = made;
	return GT_OK;
}

void gt_cuda_gdr_free(void *arg, uint32_t rank,
		      struct gt_link_device_memory *memory)
{
	const struct gt_engine *engine = arg;

	cudaSetDevice(engine->ranks[rank].device);
	cudaFree(memory->base);
	cudaGetLastError();
	memory->base = NULL;
}
