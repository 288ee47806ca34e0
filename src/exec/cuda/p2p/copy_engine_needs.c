/*
 * What copy engines need before: streams beside a rank's, events, and scratch
 * for what waits to be added up.
 */
#include "exec/cuda/p2p/p2p.h"

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "plan/ir/plan.h"

const char *gt_cuda_ce_fault(const struct gt_engine *engine, enum gt_coll coll)
{
	if (engine->plan->nranks < 2 && gt_coll_reduces(coll))
		return "there is nobody to send to";
	if (coll == GT_COLL_REDUCE && !gt_cuda_may_send_to_root(engine))
		return "the root would get everything, or can pull it";
	return NULL;
}

/* Make the streams and events of a rank. */
static cudaError_t gt_ce_open(struct gt_cuda_rank *me, int lanes)
{
	cudaError_t rc = cudaSetDevice(me->device);
	int first = 0;

	/* What was begun should end before what the program begins beside. */
	if (rc == cudaSuccess)
		rc = cudaDeviceGetStreamPriorityRange(NULL, &first);
	if (rc == cudaSuccess && !me->side)
		rc = cudaStreamCreateWithPriority(&me->side,
						  cudaStreamNonBlocking, first);
	if (rc == cudaSuccess && lanes && !me->second)
		rc = cudaStreamCreateWithPriority(&me->second,
						  cudaStreamNonBlocking, first);
	if (rc == cudaSuccess && !me->done)
		rc = cudaEventCreateWithFlags(&me->done,
					      cudaEventDisableTiming);
	for (int i = 0; lanes && i < 2 * GT_CUDA_EDGES; i++) {
		cudaEvent_t *edge = &me->edges[i % 2][i / 2];

		if (rc == cudaSuccess && !*edge)
			rc = cudaEventCreateWithFlags(edge,
						      cudaEventDisableTiming);
	}
	for (int k = 0; k < GT_CUDA_CE_PIECES; k++)
		if (rc == cudaSuccess && !me->reduced[k])
			rc = cudaEventCreateWithFlags(&me->reduced[k],
						      cudaEventDisableTiming);
	return rc;
}

uint64_t gt_cuda_scratch_bytes(const struct gt_engine *engine,
			       const struct gt_exec_request *req)
{
	uint64_t most = 0;

	if (gt_choice_is_scratch_reduce(&engine->choice, req->coll))
		return gt_scratch_reduce_bytes(engine, req);
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		struct gt_p2p flow =
			gt_cuda_p2p_of(engine, req, engine->choice.algo, r);
		uint64_t blocks = engine->choice.protocol == GT_PROTOCOL_CE &&
						  flow.flags & GT_P2P_REDUCE
					  ? flow.nranks - 1
				  : !gt_cuda_p2p_overwrites(req) ? 0
				  : flow.in_stride               ? flow.nranks
								 : 1;
		uint64_t bytes =
			flow.count * blocks * gt_dtype_bytes(req->dtype);

		if (bytes > most)
			most = bytes;
	}
	return most;
}

int gt_cuda_ce_need(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err)
{
	int rc = gt_cuda_ce_open(engine, err);

	return rc ? rc
		  : gt_cuda_region_grow(engine, GT_CUDA_SCRATCH,
					gt_cuda_scratch_bytes(engine, req), req,
					err);
}

int gt_cuda_ce_open(struct gt_engine *engine, struct gt_err *err)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaError_t done = gt_ce_open(&engine->ranks[r],
					      engine->reserved_bytes != 0);

		if (done != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)done,
					    "make a stream", err);
	}
	return GT_OK;
}

void gt_cuda_ce_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];

		cudaSetDevice(me->device);
		if (me->done)
			cudaEventDestroy(me->done);
		for (int i = 0; i < 2 * GT_CUDA_EDGES; i++)
			if (me->edges[i % 2][i / 2])
				cudaEventDestroy(me->edges[i % 2][i / 2]);
		for (int k = 0; k < GT_CUDA_CE_PIECES; k++)
			if (me->reduced[k])
				cudaEventDestroy(me->reduced[k]);
		if (me->side)
			cudaStreamDestroy(me->side);
		if (me->second)
			cudaStreamDestroy(me->second);
	}
}
