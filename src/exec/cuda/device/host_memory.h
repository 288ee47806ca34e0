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

/*
 * Make zeros that all processes of this host map: a meeting.  _share_parts()
 * makes bytes[rank] for every rank, one part of whole pages behind the other,
 * each near its GPU where the host has several NUMA nodes.
 */
int gt_cuda_host_share(struct gt_engine *engine, size_t bytes,
		       struct gt_shared_memory *share, struct gt_err *err);
int gt_cuda_host_share_parts(struct gt_engine *engine, const uint64_t *bytes,
			     struct gt_shared_memory *share,
			     struct gt_err *err);

/*
 * How much of the host's memory is pinned for a communicator is bounded:
 * GTOPO_PINNED, or 4 GiB.  _open() reads that, and is GT_EINPUT if it is no
 * size; _may() is GT_ESYS, with a remedy, if so many bytes more are too many;
 * _add() counts them and, where all go through the host, tells so.
 */
int gt_cuda_pinned_open(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_pinned_may(const struct gt_engine *engine, uint64_t bytes,
		       struct gt_err *err);
void gt_cuda_pinned_add(struct gt_engine *engine, uint64_t bytes);

/*
 * Make a region in the host's memory, of bytes[rank] zeros for every rank,
 * which all processes and GPUs reach: a meeting.  _free() is for any region.
 */
int gt_cuda_host_region_new(struct gt_engine *engine, int region,
			    const uint64_t *bytes, struct gt_err *err);
void gt_cuda_host_region_free(struct gt_engine *engine, int region);

/* Links call these for the memory of FIFOs; the engine is their `arg`. */
extern const struct gt_link_memory_ops gt_cuda_pins;

/* gdr_memory.c: two of them; see exec/link/link.h. */
int gt_cuda_gdr_new(void *arg, uint32_t rank, uint64_t bytes,
		    struct gt_link_device_memory *memory, struct gt_err *err);
void gt_cuda_gdr_free(void *arg, uint32_t rank,
		      struct gt_link_device_memory *memory);

#endif
