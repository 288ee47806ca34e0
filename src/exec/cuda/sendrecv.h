/*
 * Messages between ranks, which need not call at the same time.
 */
#ifndef GT_EXEC_CUDA_SENDRECV_H
#define GT_EXEC_CUDA_SENDRECV_H

#include "exec/cuda/device/state.h"

/* These are engine_ops.async's. */
int gt_cuda_sendrecv_setup(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_sendrecv(struct gt_engine *engine, uint32_t rank, void *stream,
		     const struct gt_message *messages, uint32_t n,
		     struct gt_err *err);

/* After an abort: GT_ESYS or GT_EINPUT if a message was the reason. */
int gt_cuda_sendrecv_diagnose(const struct gt_engine *engine,
			      struct gt_err *err);

#endif
