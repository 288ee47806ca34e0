/*
 * Which row of the plan serves a request, and whether GPUs can run it.
 */
#ifndef GT_EXEC_CUDA_ROW_H
#define GT_EXEC_CUDA_ROW_H

#include "exec/cuda/device/state.h"

/*
 * How many workers has each channel and lane?  As many as the row asks for or
 * as fit.
 */
uint32_t gt_cuda_row_workers(const struct gt_engine *engine,
			     const struct gt_plan_select *row, uint32_t lanes);

uint32_t gt_cuda_row_lanes(const struct gt_engine *engine,
			   const struct gt_plan_select *row, enum gt_coll coll);

/* Can kernels do a row's steps?  If not, *err says why. */
int gt_cuda_row_supported(const struct gt_engine *engine,
			  const struct gt_plan_select *row, enum gt_coll coll,
			  struct gt_err *err);

/*
 * Find the plan's row for a request, or NULL; gt_cuda_row_check() says whether
 * GPUs can run its channels.
 */
const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_exec_request *req);
int gt_cuda_row_check(const struct gt_engine *engine,
		      const struct gt_exec_request *req, struct gt_err *err);

#endif
