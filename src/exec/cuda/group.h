/*
 * Requests of a group that go as packets or through scratch wait here for one
 * another, to become one launch of each a GPU.
 */
#ifndef GT_EXEC_CUDA_GROUP_H
#define GT_EXEC_CUDA_GROUP_H

#include "exec/cuda/device/state.h"
#include "exec/cuda/bundle.h"

struct gt_cuda_fusion {
	const struct gt_exec_request *reqs[GT_GROUP_OPS];
	struct gt_bundle_op ops[GT_GROUP_OPS];
	uint32_t n;
};

/* May this request, which gt_cuda_prepare() has seen, share a launch? */
int gt_cuda_fusion_takes(const struct gt_engine *engine,
			 const struct gt_exec_request *req);
void gt_cuda_fusion_add(const struct gt_engine *engine,
			struct gt_cuda_fusion *fusion,
			const struct gt_exec_request *req);

/*
 * Launch those that were added, on all local ranks, in as few launches as they
 * fit in.
 */
int gt_cuda_fusion_flush(struct gt_engine *engine,
			 struct gt_cuda_fusion *fusion, struct gt_err *err);

#endif
