/*
 * Regions: memory of each rank that the others reach, in other processes
 * through CUDA IPC or files.  All processes make and drop the same ones in the
 * same order.
 */
#ifndef GT_EXEC_CUDA_DEVICE_IPC_MEMORY_H
#define GT_EXEC_CUDA_DEVICE_IPC_MEMORY_H

#include "exec/cuda/device/state.h"

/* Round bytes up to whole pages, which no other allocation shares. */
uint64_t gt_cuda_pages(uint64_t bytes);

/*
 * Make bytes[rank] zeros for every rank and let all processes open them: a
 * meeting.  gt_cuda_region_alloc() makes the local parts alone, before they are
 * exchanged (region_exchange.h).
 */
int gt_cuda_region_new(struct gt_engine *engine, int region,
		       const uint64_t *bytes, struct gt_err *err);
int gt_cuda_region_alloc(struct gt_engine *engine, int region,
			 const uint64_t *bytes, struct gt_err *err);

/* Free the local parts alone: nobody has them open. */
void gt_cuda_region_free(struct gt_engine *engine, int region);

/* Close and free a region: a meeting, if there is such a region. */
int gt_cuda_region_drop(struct gt_engine *engine, int region,
			struct gt_err *err);

/* Make a region anew unless each rank has `need` bytes of it. */
int gt_cuda_region_grow(struct gt_engine *engine, int region, uint64_t need,
			const struct gt_exec_request *req, struct gt_err *err);

/*
 * Make the data region anew, so large that an input, and an output, has
 * `bytes`; of GT_P2P_RANKS ranks at most.
 */
int gt_cuda_data_remake(struct gt_engine *engine, uint64_t bytes,
			struct gt_err *err);

/*
 * Close what is other processes' in all regions; when all have done so, free
 * what is this one's.
 */
void gt_cuda_regions_unmap(struct gt_engine *engine);
void gt_cuda_regions_free(struct gt_engine *engine);

enum { GT_CUDA_TAIL_BYTES = 256 }; /* behind a buffer, for shifted tests */

/*
 * peers.c: find out which processes reach each other's memory, and by which
 * means, by making the data region; sets engine->reachable and
 * all_peers_reachable.
 */
int gt_cuda_peers_probe(struct gt_engine *engine, struct gt_err *err);

#endif
