/*
 * Lays out the memory that all processes of a host share: the abort word, then
 * the reports of all blocks, then the area in which buffers are exchanged.
 */
#include "exec/cuda/host_state.h"

#include "base/err.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/user_buffers.h"

enum { GT_CUDA_HEAD_BYTES = 128 };

int gt_cuda_host_state_open(struct gt_engine *engine, struct gt_err *err)
{
	size_t n = (size_t)engine->plan->nranks * engine->nblocks;
	size_t table = GT_CUDA_HEAD_BYTES + n * sizeof(*engine->reports);
	size_t bytes = table + sizeof(*engine->exchange);
	int rc = gt_cuda_host_share(engine, bytes, &engine->host_state, err);
	char *base = engine->host_state.base;

	if (!rc)
		rc = gt_cuda_pins.pin(base, bytes, err);
	if (rc) {
		gt_shared_memory_free(&engine->host_state);
		return rc;
	}
	engine->watch = (void *)base;
	engine->reports = (void *)(base + GT_CUDA_HEAD_BYTES);
	engine->exchange = (void *)(base + table);
	return GT_OK;
}

void gt_cuda_host_state_close(struct gt_engine *engine)
{
	if (engine->host_state.base)
		gt_cuda_pins.unpin(engine->host_state.base);
	gt_shared_memory_free(&engine->host_state);
}
