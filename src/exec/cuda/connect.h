/*
 * Programs on the GPUs and the FIFOs that connect them, in GPUs' memory or over
 * links.
 */
#ifndef GT_EXEC_CUDA_CONNECT_H
#define GT_EXEC_CUDA_CONNECT_H

#include "exec/cuda/device/state.h"

/*
 * Build the collective's programs and FIFOs unless they are there.
 * gt_cuda_connect_all() does so for all that the plan has, if some go over
 * links: those hold either one collective's FIFOs or, for callers' streams, all
 * of them for ever.
 */
int gt_cuda_connect(struct gt_engine *engine, enum gt_coll coll,
		    struct gt_err *err);
int gt_cuda_connect_all(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_disconnect(struct gt_engine *engine);

/*
 * Set *moved to a number that changes when a local rank has used a FIFO over a
 * link; returns 0 if it has none.
 */
int gt_cuda_link_progress(const struct gt_engine *engine, enum gt_coll coll,
			  uint32_t rank, uint64_t *moved);

#endif
