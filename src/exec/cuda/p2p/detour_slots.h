/*
 * Detours are made of slots in the host's memory and of each rank's streams.
 * Only the detours' own files look at this.
 */
#ifndef GT_EXEC_CUDA_P2P_DETOUR_SLOTS_H
#define GT_EXEC_CUDA_P2P_DETOUR_SLOTS_H

#include "exec/cuda/device/state.h"

enum {
	GT_DETOUR_LANES = 2,
	GT_DETOUR_SUM_STEPS = 2,        /* from a block to its sum's way out */
	GT_DETOUR_SHARERS = 3,          /* other ranks on a GPU, at most */
	GT_DETOUR_STEP_BYTES = 8 << 20, /* of all items of a rank's step */
	GT_DETOUR_PAGE_BYTES = 4096,
	GT_DETOUR_CHUNK_BYTES = 4 << 20, /* at most */
};

/* A rank's part of the memory. */
struct gt_detour_slots {
	uint64_t told; /* how far it is: written by it, read by all */
	_Alignas(GT_DETOUR_PAGE_BYTES) char slots[GT_DETOUR_LANES][2]
						 [GT_DETOUR_STEP_BYTES];
};

/* A local rank's streams and memory. */
struct gt_cuda_detour {
	cudaStream_t meet, out[GT_DETOUR_LANES], in[GT_DETOUR_LANES];
	cudaEvent_t event;
	struct gt_kernel_epoch *epoch; /* on the device */
	uint64_t chunk_bytes;          /* alike on all ranks */
	char *piles; /* device: a chunk each, [LANES][nranks] */
	char *sums;  /* device: a chunk each, [SUM_STEPS * LANES] */
};

#endif
