/*
 * Memory of GPUs that network cards read and write by themselves.
 */
#ifndef GT_EXEC_CUDA_DEVICE_GDR_MEMORY_H
#define GT_EXEC_CUDA_DEVICE_GDR_MEMORY_H

#include <stdint.h>

struct gt_err;
struct gt_link_device_memory;

/* The engine is `arg`; see exec/link/link.h. */
int gt_cuda_gdr_new(void *arg, uint32_t rank, uint64_t bytes,
		    struct gt_link_device_memory *memory, struct gt_err *err);
void gt_cuda_gdr_free(void *arg, uint32_t rank,
		      struct gt_link_device_memory *memory);

#endif
