#include "exec/cuda_detour.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "world/world.h"

static cudaError_t gt_detour_streams(struct gt_cuda_detour *detour)
{
	cudaError_t rc = cudaEventCreateWithFlags(&detour->event,
						  cudaEventDisableTiming);

	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&detour->meet,
					       cudaStreamNonBlocking);
	for (int lane = 0; lane < GT_DETOUR_LANES; lane++) {
		if (rc == cudaSuccess)
			rc = cudaStreamCreateWithFlags(&detour->out[lane],
						       cudaStreamNonBlocking);
		if (rc == cudaSuccess)
			rc = cudaStreamCreateWithFlags(&detour->in[lane],
						       cudaStreamNonBlocking);
	}
	return rc;
}

/*
 * Of a chunk, such that all of a step's items have room.  Smaller ones fill the
 * pipeline sooner, but a step costs more than it saves: 2 H200 take for a
 * broadcast of 256 MiB in graphs, 80 permille of it by a detour, 659 us with 4
 * MiB, 739 with 2 MiB.
 */
static uint64_t gt_detour_chunk(uint32_t nranks)
{
	uint64_t bytes = GT_DETOUR_STEP_BYTES / nranks;

	if (bytes > GT_DETOUR_CHUNK_BYTES)
		bytes = GT_DETOUR_CHUNK_BYTES;
	return bytes / GT_DETOUR_PAGE_BYTES * GT_DETOUR_PAGE_BYTES;
}

/* Of the device, without the epoch. */
static uint64_t gt_detour_pile_bytes(uint32_t nranks)
{
	return (nranks + GT_DETOUR_SUM_STEPS) * GT_DETOUR_LANES *
	       gt_detour_chunk(nranks);
}

static cudaError_t gt_detour_make(struct gt_cuda_rank *me,
				  struct gt_cuda_detour *detour,
				  uint32_t nranks)
{
	uint64_t bytes = gt_detour_pile_bytes(nranks);
	size_t epoch = sizeof(*detour->epoch);
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_detour_prepare();
	if (rc == cudaSuccess)
		rc = gt_detour_streams(detour);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&detour->piles, bytes + epoch);
	if (rc != cudaSuccess)
		return rc;
	detour->chunk_bytes = gt_detour_chunk(nranks);
	detour->sums =
		detour->piles + GT_DETOUR_LANES * nranks * detour->chunk_bytes;
	detour->epoch = (void *)(detour->piles + bytes);
	rc = cudaMemsetAsync(detour->epoch, 0, epoch, me->own);
	return rc == cudaSuccess ? cudaStreamSynchronize(me->own) : rc;
}

/* Slots and flags of all ranks, which are on one host. */
static int gt_detour_share(struct gt_engine *engine, struct gt_err *err)
{
	size_t bytes = engine->plan->nranks * sizeof(struct gt_detour_room);
	int rc = gt_cuda_share(engine, bytes, &engine->detours, err);

	if (!rc)
		rc = gt_cuda_pins.pin(engine->detours.base, bytes, err);
	if (rc)
		gt_share_free(&engine->detours);
	return rc;
}

/*
 * None where ranks of a GPU would have more streams than it has queues: they
 * wait for one another.  None where one thread puts requests on the streams of
 * several ranks: putting a detour on takes as long as it saves, and nothing
 * must wait for a rank that is put on behind it.
 */
int gt_cuda_detour_open(struct gt_engine *engine, struct gt_err *err)
{
	const char *want = getenv("GTOPO_DETOUR");
	uint32_t locals = engine->group.end - engine->group.first;
	uint64_t without = (want && !strcmp(want, "0")) ||
			   (gt_cuda_is_async(engine) && locals > 1);
	int rc = GT_OK;

	if (engine->group.world)
		rc = gt_world_max(engine->group.world, &without, err);
	engine->detoured = !without && engine->meshed && engine->whole &&
			   engine->plan->nranks > 1 &&
			   engine->plan->nranks <= GT_FLOW_RANKS &&
			   engine->shares <= GT_DETOUR_SHARES;
	return rc;
}

int gt_cuda_detour_need(struct gt_engine *engine, const struct gt_request *req,
			struct gt_err *err)
{
	int rc = gt_cuda_flow_open(engine, req->dtype, err);

	if (!rc && !engine->detours.base)
		rc = gt_detour_share(engine, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t done;

		if (me->detour)
			continue;
		me->detour = gt_arena_alloc(engine->arena, sizeof(*me->detour));
		if (!me->detour)
			return gt_err_nomem(err);
		done = gt_detour_make(me, me->detour, engine->plan->nranks);
		if (done != cudaSuccess)
			rc = gt_cuda_fail(
				engine, r, (int)done,
				"make a detour (GTOPO_DETOUR=0: none)", err);
	}
	return rc;
}

static void gt_detour_close(const struct gt_cuda_detour *detour)
{
	cudaFree(detour->piles);
	if (detour->event)
		cudaEventDestroy(detour->event);
	if (detour->meet)
		cudaStreamDestroy(detour->meet);
	for (int lane = 0; lane < GT_DETOUR_LANES; lane++) {
		if (detour->out[lane])
			cudaStreamDestroy(detour->out[lane]);
		if (detour->in[lane])
			cudaStreamDestroy(detour->in[lane]);
	}
}

void gt_cuda_detour_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		if (engine->ranks[r].detour)
			gt_detour_close(engine->ranks[r].detour);
	}
	if (engine->detours.base)
		gt_cuda_pins.unpin(engine->detours.base);
	gt_share_free(&engine->detours);
}
