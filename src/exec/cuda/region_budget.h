/*
 * How much memory communicators of this process have for what processes share
 * (reserve.c), so that many of them do not take a GPU's.
 */
#ifndef GT_EXEC_CUDA_REGION_BUDGET_H
#define GT_EXEC_CUDA_REGION_BUDGET_H

#include <stdint.h>

enum { GT_REGION_MIB = 64, GT_REGION_LARGE_MIB = 128, GT_REGION_PARTS = 4 };

/*
 * May one more communicator have large parts on a GPU of so much memory, of
 * which so much is free?  All of them together take a 64th of it, but for those
 * that threads make at the same time, and leave an eighth free.
 */
int gt_region_may_be_large(int gpu, uint64_t free_bytes, uint64_t all_bytes);

/* It has (1), or has no more (-1). */
void gt_region_count_large(int gpu, int more);

#endif
