/*
 * Memory of the host that GPUs read and write, too, and memory of GPUs that
 * network cards do.
 */
#ifndef GT_EXEC_CUDA_DEVICE_HOST_MEMORY_H
#define GT_EXEC_CUDA_DEVICE_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct gt_engine;
struct gt_err;
struct gt_link_device_memory;
struct gt_link_memory_ops;
struct gt_shared_memory;

/* Make zeros that all processes of this host map: a meeting. */
int gt_cuda_host_share(struct gt_engine *engine, size_t bytes,
		       struct gt_shared_memory *share, struct gt_err *err);

/* Links call these for the memory of FIFOs; the engine is their `arg`. */
extern const struct gt_link_memory_ops gt_cuda_pins;

/* gdr_memory.c: two of them; see exec/link/link.h. */
int gt_cuda_gdr_new(void *arg, uint32_t rank, uint64_t bytes,
		    struct gt_link_device_memory *memory, struct gt_err *err);
void gt_cuda_gdr_free(void *arg, uint32_t rank,
		      struct gt_link_device_memory *memory);

#endif
