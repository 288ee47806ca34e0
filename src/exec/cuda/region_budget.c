/* Counts by GPU, as a process may have ranks on several. */
#include "exec/cuda/region_budget.h"

#include <stdatomic.h>

/*
 * Beside products a copy within a GPU waits until one ends, however much it
 * copies: FSDP-like steps of width 8192 on 2 H200 took 1.03 of NCCL's time with
 * 64 MiB, and as long with 128 or 256; alone 256 MiB took 3 % longer than 64.
 */
enum { GT_REGION_GPUS = 64, GT_REGION_SHARE = 64, GT_REGION_FREE_SHARE = 8 };

static _Atomic int gt_region_large[GT_REGION_GPUS];

int gt_region_may_be_large(int gpu, uint64_t free_bytes, uint64_t all_bytes)
{
	uint64_t each = (uint64_t)GT_REGION_LARGE_MIB * GT_REGION_PARTS << 20;

	return gpu >= 0 && gpu < GT_REGION_GPUS &&
	       free_bytes >= all_bytes / GT_REGION_FREE_SHARE &&
	       ((uint64_t)atomic_load(&gt_region_large[gpu]) + 1) * each <=
		       all_bytes / GT_REGION_SHARE;
}

void gt_region_count_large(int gpu, int more)
{
	if (gpu >= 0 && gpu < GT_REGION_GPUS)
		atomic_fetch_add(&gt_region_large[gpu], more);
}
