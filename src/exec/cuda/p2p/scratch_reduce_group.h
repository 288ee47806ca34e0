/*
 * Reductions of a group through scratch, several in one launch.
 */
#ifndef GT_EXEC_CUDA_P2P_SCRATCH_REDUCE_GROUP_H
#define GT_EXEC_CUDA_P2P_SCRATCH_REDUCE_GROUP_H

#include "exec/cuda/device/state.h"

/* May this one be among them? */
int gt_scratch_group_can(const struct gt_engine *engine,
			 const struct gt_exec_request *req);

/* How many of the first, 1 at least, fit in one launch? */
uint32_t gt_scratch_group_fit(const struct gt_engine *engine,
			      const struct gt_exec_request *const *reqs,
			      uint32_t n);

/* Make scratch for all of them, which are of one type and operator. */
int gt_scratch_group_need(struct gt_engine *engine,
			  const struct gt_exec_request *const *reqs, uint32_t n,
			  struct gt_err *err);

/* Launch one rank's part of all; a cudaError_t. */
int gt_scratch_group_launch(const struct gt_engine *engine,
			    const struct gt_exec_request *const *reqs,
			    uint32_t n, uint32_t rank);

#endif
