/*
 * By which algorithm and protocol a request goes.
 */
#ifndef GT_EXEC_CUDA_TUNING_H
#define GT_EXEC_CUDA_TUNING_H

#include "exec/cuda/device/state.h"

/*
 * Choose what the request asks for, or the plan, or what is known to be the
 * fastest.  GT_EINPUT when that is not possible.
 */
int gt_cuda_choose_algo(const struct gt_engine *engine,
			const struct gt_exec_request *req,
			struct gt_algo_choice *choice, struct gt_err *err);

#endif
