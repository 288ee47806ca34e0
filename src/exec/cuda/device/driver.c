/*
 * Finds the driver's functions when they are first needed, and makes, exports
 * and maps memory with them.
 */
#include "exec/cuda/device/driver.h"

#include <cudaTypedefs.h>
#include <stddef.h>
#include <unistd.h>

#include "exec/link/fd_passing.h"

/* A piece of another process is no larger, so that sizes can be added up. */
#define GT_DRIVER_PIECE_MOST_BYTES (UINT64_C(1) << 48)

/* Find a function as it was in that version of CUDA; NULL: there is none. */
static void *gt_driver_find(const char *name, unsigned version)
{
	enum cudaDriverEntryPointQueryResult found;
	void *function = NULL;
	cudaError_t rc;

#if CUDART_VERSION >= 12050
	rc = cudaGetDriverEntryPointByVersion(name, &function, version,
					      cudaEnableDefault, &found);
#else
	(void)version;
	rc = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault,
				     &found);
#endif
	cudaGetLastError();
	return rc == cudaSuccess && found == cudaDriverEntryPointSuccess
		       ? function
		       : NULL;
}

#define GT_DRIVER(name, version)                                               \
	((PFN_##name##_v##version)gt_driver_find(#name, version))

static cudaError_t gt_driver_code(CUresult rc)
{
	return rc == CUDA_SUCCESS               ? cudaSuccess
	       : rc == CUDA_ERROR_OUT_OF_MEMORY ? cudaErrorMemoryAllocation
	       : rc == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidValue
						: cudaErrorNotSupported;
}

/* Find the allocation, or the piece, that `at` lies in. */
static cudaError_t gt_driver_piece(const char *at, struct gt_cuda_extent *piece)
{
	PFN_cuMemGetAddressRange_v3020 range =
		GT_DRIVER(cuMemGetAddressRange, 3020);
	CUdeviceptr base;
	size_t bytes;

	if (!range || range(&base, &bytes, (CUdeviceptr)at) != CUDA_SUCCESS)
		return cudaErrorNotSupported;
	*piece = (struct gt_cuda_extent){(const char *)base, bytes};
	return cudaSuccess;
}

cudaError_t gt_cuda_ipc_of(struct gt_cuda_extent extent,
			   cudaIpcMemHandle_t *handle, uint64_t *offset)
{
	struct gt_cuda_extent piece;
	cudaError_t rc = gt_driver_piece(extent.base, &piece);

	if (rc == cudaSuccess &&
	    extent.base + extent.bytes > piece.base + piece.bytes)
		rc = cudaErrorNotSupported;
	if (rc == cudaSuccess)
		rc = cudaIpcGetMemHandle(handle, (void *)piece.base);
	if (rc != cudaSuccess)
		return rc;
	*offset = (uint64_t)(extent.base - piece.base);
	return cudaSuccess;
}

/* Make a file for the piece. */
static cudaError_t gt_driver_file(const char *piece, int *fd)
{
	PFN_cuMemRetainAllocationHandle_v11000 retain =
		GT_DRIVER(cuMemRetainAllocationHandle, 11000);
	PFN_cuMemExportToShareableHandle_v10020 export =
		GT_DRIVER(cuMemExportToShareableHandle, 10020);
	PFN_cuMemRelease_v10020 release = GT_DRIVER(cuMemRelease, 10020);
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	if (!retain || !export || !release)
		return cudaErrorNotSupported;
	rc = retain(&handle, (void *)piece);
	if (rc != CUDA_SUCCESS)
		return gt_driver_code(rc);
	rc = export(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	release(handle);
	return gt_driver_code(rc);
}

cudaError_t gt_cuda_files_of(struct gt_cuda_extent extent,
			     struct gt_fd_packet *pass, uint64_t *offset)
{
	const char *at = extent.base, *end = extent.base + extent.bytes;
	struct gt_cuda_extent piece;
	cudaError_t rc = cudaSuccess;

	pass->n = 0;
	while (rc == cudaSuccess && at < end) {
		rc = pass->n < GT_FD_PACKET_MAX ? gt_driver_piece(at, &piece)
						: cudaErrorNotSupported;
		if (rc == cudaSuccess)
			rc = gt_driver_file(piece.base, &pass->fds[pass->n]);
		if (rc != cudaSuccess)
			break;
		if (!pass->n)
			*offset = (uint64_t)(at - piece.base);
		pass->words[pass->n++] = piece.bytes;
		at = piece.base + piece.bytes;
	}
	if (rc != cudaSuccess)
		gt_fd_packet_close(pass);
	return rc;
}

cudaError_t gt_cuda_dmabuf_of(struct gt_cuda_extent extent, int *fd)
{
	PFN_cuMemGetHandleForAddressRange_v11070 export =
		GT_DRIVER(cuMemGetHandleForAddressRange, 11070);

	return export ? gt_driver_code(export(
				fd, (CUdeviceptr)extent.base, extent.bytes,
				CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0))
		      : cudaErrorNotSupported;
}

static cudaError_t gt_driver_allow(struct gt_cuda_extent piece,
				   const int *devices, uint32_t ndevices)
{
	PFN_cuMemSetAccess_v10020 allow = GT_DRIVER(cuMemSetAccess, 10020);
	CUresult rc = CUDA_SUCCESS;

	if (!allow)
		return cudaErrorNotSupported;
	for (uint32_t i = 0; rc == CUDA_SUCCESS && i < ndevices; i++) {
		CUmemAccessDesc access = {
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
			.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

		access.location.id = devices[i];
		rc = allow((CUdeviceptr)piece.base, piece.bytes, &access, 1);
	}
	return gt_driver_code(rc);
}

/* Did cuMemMap() make it? */
static int gt_driver_is_mapped(struct gt_cuda_extent piece)
{
	PFN_cuMemRetainAllocationHandle_v11000 retain =
		GT_DRIVER(cuMemRetainAllocationHandle, 11000);
	PFN_cuMemRelease_v10020 release = GT_DRIVER(cuMemRelease, 10020);
	CUmemGenericAllocationHandle handle;

	if (!retain || !release ||
	    retain(&handle, (void *)piece.base) != CUDA_SUCCESS)
		return 0;
	release(handle);
	return 1;
}

cudaError_t gt_cuda_allow(struct gt_cuda_extent extent, const int *devices,
			  uint32_t ndevices)
{
	const char *at = extent.base, *end = extent.base + extent.bytes;
	struct gt_cuda_extent piece;
	cudaError_t rc = cudaSuccess;

	while (rc == cudaSuccess && at < end) {
		rc = gt_driver_piece(at, &piece);
		if (rc != cudaSuccess || !gt_driver_is_mapped(piece))
			break;
		rc = gt_driver_allow(piece, devices, ndevices);
		at = piece.base + piece.bytes;
	}
	return rc;
}

static cudaError_t gt_driver_reserve(uint64_t bytes,
				     struct gt_cuda_mapping *map)
{
	PFN_cuMemAddressReserve_v10020 reserve =
		GT_DRIVER(cuMemAddressReserve, 10020);
	CUdeviceptr base = 0;
	cudaError_t rc =
		reserve ? gt_driver_code(reserve(&base, bytes, 0, 0, 0))
			: cudaErrorNotSupported;

	if (rc == cudaSuccess)
		*map = (struct gt_cuda_mapping){(char *)base, 0, bytes};
	return rc;
}

/* Map memory behind what is mapped already; takes the handle. */
static cudaError_t gt_driver_add(CUmemGenericAllocationHandle handle,
				 uint64_t bytes, struct gt_cuda_mapping *map)
{
	PFN_cuMemMap_v10020 add = GT_DRIVER(cuMemMap, 10020);
	PFN_cuMemRelease_v10020 release = GT_DRIVER(cuMemRelease, 10020);
	CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

	if (add && release) {
		rc = add((CUdeviceptr)(map->base + map->bytes), bytes, 0,
			 handle, 0);
		release(handle);
	}
	if (rc == CUDA_SUCCESS)
		map->bytes += bytes;
	return gt_driver_code(rc);
}

static cudaError_t gt_driver_take(int fd, uint64_t bytes,
				  struct gt_cuda_mapping *map)
{
	PFN_cuMemImportFromShareableHandle_v10020 take =
		GT_DRIVER(cuMemImportFromShareableHandle, 10020);
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	if (!take)
		return cudaErrorNotSupported;
	rc = take(&handle, (void *)(intptr_t)fd,
		  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	return rc == CUDA_SUCCESS ? gt_driver_add(handle, bytes, map)
				  : gt_driver_code(rc);
}

static cudaError_t gt_driver_make(int device, uint64_t bytes,
				  struct gt_cuda_mapping *map)
{
	PFN_cuMemCreate_v10020 create = GT_DRIVER(cuMemCreate, 10020);
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes =
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	if (!create)
		return cudaErrorNotSupported;
	prop.location.id = device;
	rc = create(&handle, bytes, &prop, 0);
	return rc == CUDA_SUCCESS ? gt_driver_add(handle, bytes, map)
				  : gt_driver_code(rc);
}

/*
 * Let these devices reach everything that is mapped; *map is then the caller's,
 * or zeros after a failure.
 */
static cudaError_t gt_driver_finish(cudaError_t rc,
				    struct gt_cuda_mapping *made,
				    const int *devices, uint32_t ndevices,
				    struct gt_cuda_mapping *map)
{
	if (rc == cudaSuccess)
		rc = gt_driver_allow(
			(struct gt_cuda_extent){made->base, made->bytes},
			devices, ndevices);
	if (rc == cudaSuccess)
		*map = *made;
	else
		gt_cuda_mapping_drop(made);
	return rc;
}

cudaError_t gt_cuda_mapping_new(int device, uint64_t bytes, const int *devices,
				uint32_t ndevices, struct gt_cuda_mapping *map)
{
	struct gt_cuda_mapping made = {.base = NULL};
	cudaError_t rc = gt_driver_reserve(bytes, &made);

	if (rc == cudaSuccess)
		rc = gt_driver_make(device, bytes, &made);
	return gt_driver_finish(rc, &made, devices, ndevices, map);
}

cudaError_t gt_cuda_mapping_open(const struct gt_fd_packet *pass,
				 const int *devices, uint32_t ndevices,
				 struct gt_cuda_mapping *map)
{
	struct gt_cuda_mapping made = {.base = NULL};
	uint64_t bytes = 0;
	cudaError_t rc;

	for (uint32_t i = 0; i < pass->n; i++) {
		if (pass->words[i] > GT_DRIVER_PIECE_MOST_BYTES)
			return cudaErrorInvalidValue;
		bytes += pass->words[i];
	}
	rc = gt_driver_reserve(bytes, &made);
	for (uint32_t i = 0; rc == cudaSuccess && i < pass->n; i++)
		rc = gt_driver_take(pass->fds[i], pass->words[i], &made);
	return gt_driver_finish(rc, &made, devices, ndevices, map);
}

void gt_cuda_mapping_drop(struct gt_cuda_mapping *map)
{
	PFN_cuMemUnmap_v10020 unmap = GT_DRIVER(cuMemUnmap, 10020);
	PFN_cuMemAddressFree_v10020 release =
		GT_DRIVER(cuMemAddressFree, 10020);

	if (map->bytes && unmap)
		unmap((CUdeviceptr)map->base, map->bytes);
	if (map->base && release)
		release((CUdeviceptr)map->base, map->reserved);
	*map = (struct gt_cuda_mapping){.base = NULL};
}
