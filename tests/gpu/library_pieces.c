/* Buffers made of pieces, as allocators that grow make them: cuMemMap(). */
#include "gpu/library.h"

#include <cudaTypedefs.h>
#include <stdio.h>

static const uint64_t PIECE_BYTES = 20 << 20;

static void *find(const char *name)
{
	enum cudaDriverEntryPointQueryResult found;
	void *function = NULL;

#if CUDART_VERSION >= 12050
	cudaGetDriverEntryPointByVersion(name, &function, 10020,
					 cudaEnableDefault, &found);
#else
	cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
	return function;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

/* One piece; others may be given it. */
static CUresult add_piece(int gpu, CUdeviceptr at)
{
	PFN_cuMemCreate_v10020 create = find("cuMemCreate");
	PFN_cuMemMap_v10020 map = find("cuMemMap");
	PFN_cuMemRelease_v10020 release = find("cuMemRelease");
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes =
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	prop.location.id = gpu;
	rc = create(&handle, PIECE_BYTES, &prop, 0);
	if (rc == CUDA_SUCCESS)
		rc = map(at, PIECE_BYTES, 0, handle, 0);
	if (rc == CUDA_SUCCESS)
		rc = release(handle);
	return rc;
}

int make_pieces(struct library *lib, int gpu, uint64_t bytes, char **made)
{
	PFN_cuMemAddressReserve_v10020 reserve = find("cuMemAddressReserve");
	PFN_cuMemSetAccess_v10020 allow = find("cuMemSetAccess");
	CUmemAccessDesc own = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	uint64_t all = round_up(bytes);
	CUdeviceptr base = 0;
	CUresult rc;

	cudaSetDevice(gpu);
	own.location.id = gpu;
	rc = reserve(&base, all, 0, 0, 0);
	for (uint64_t at = 0; rc == CUDA_SUCCESS && at < all; at += PIECE_BYTES)
		rc = add_piece(gpu, base + at);
	if (rc == CUDA_SUCCESS)
		rc = allow(base, all, &own, 1);
	if (rc != CUDA_SUCCESS) {
		complain(lib, "pieces", "cannot be made");
		return 0;
	}
	*made = (char *)base;
	return 1;
}

void free_pieces(char *made, uint64_t bytes)
{
	PFN_cuMemUnmap_v10020 unmap = find("cuMemUnmap");
	PFN_cuMemAddressFree_v10020 release = find("cuMemAddressFree");

	unmap((CUdeviceptr)made, round_up(bytes));
	release((CUdeviceptr)made, round_up(bytes));
}
