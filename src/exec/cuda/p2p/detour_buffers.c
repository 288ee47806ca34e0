/*
 * Makes what detours need and decides whether there are any: where one process
 * cannot have it, none has, and requests go without.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/detour_slots.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	/* Ranks that have come to nothing more for so many looks have ended. */
	GT_STAGED_QUIET_LOOKS = 100,
	GT_STAGED_LOOKS_MOST = 1000,
	GT_STAGED_LOOK_NS = 1000000,
};

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
 * Chunks have so many bytes that all of a step's items have room.  Smaller ones
 * fill the pipeline sooner, but a step costs more than it saves: 2 H200 take
 * for a broadcast of 256 MiB in graphs, 80 permille of it by a detour, 659 us
 * with 4 MiB, 739 with 2 MiB.
 */
static uint64_t gt_detour_chunk(uint32_t nranks)
{
	uint64_t bytes = GT_DETOUR_STEP_BYTES / nranks;

	if (bytes > GT_DETOUR_CHUNK_BYTES)
		bytes = GT_DETOUR_CHUNK_BYTES;
	return bytes / GT_DETOUR_PAGE_BYTES * GT_DETOUR_PAGE_BYTES;
}

/*
 * How many bytes do piles and sums take on the device?  The epoch is behind
 * them.
 */
static uint64_t gt_detour_pile_bytes(uint32_t nranks)
{
	return (nranks + GT_DETOUR_SUM_STEPS) * GT_DETOUR_LANES *
	       gt_detour_chunk(nranks);
}

static cudaError_t gt_detour_alloc(struct gt_cuda_rank *me, uint32_t nranks)
{
	struct gt_cuda_detour *detour = me->detour;
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

static int gt_detour_make(struct gt_engine *engine, uint32_t rank,
			  struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks;
	struct gt_cuda_rank *me = &engine->ranks[rank];
	char what[64];
	cudaError_t rc;

	me->detour = gt_arena_alloc(engine->arena, sizeof(*me->detour));
	if (!me->detour)
		return gt_err_nomem(err);
	rc = gt_detour_alloc(me, nranks);
	snprintf(what, sizeof(what),
		 "make what detours need ('%" PRIu64 "' bytes)",
		 gt_detour_pile_bytes(nranks));
	return rc == cudaSuccess
		       ? GT_OK
		       : gt_cuda_fail(engine, rank, (int)rc, what, err);
}

/* Share the slots and flags of all ranks, which are on one host. */
static int gt_detour_share(struct gt_engine *engine, struct gt_err *err)
{
	size_t bytes = engine->plan->nranks * sizeof(struct gt_detour_slots);
	uint64_t parts[GT_P2P_RANKS];
	int rc = gt_cuda_pinned_may(engine, bytes, err);

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		parts[r] = sizeof(struct gt_detour_slots);
	if (!rc)
		rc = gt_cuda_host_share_parts(engine, parts,
					      &engine->detour_slots, err);
	if (!rc)
		rc = gt_cuda_pins.pin(engine->detour_slots.base, bytes, err);
	if (rc)
		gt_shared_memory_free(&engine->detour_slots);
	else
		gt_cuda_pinned_add(engine, bytes);
	return rc;
}

/*
 * There are none where ranks of a GPU would have more streams than it has
 * queues: they wait for one another.  There are none where one thread puts
 * requests on the streams of several ranks: putting a detour on takes as long
 * as it saves, and nothing must wait for a rank that is put on behind it.
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
	engine->has_detours = !without && engine->all_peers_reachable &&
			      engine->has_128b_stores &&
			      engine->plan->nranks > 1 &&
			      engine->plan->nranks <= GT_P2P_RANKS &&
			      engine->sharers <= GT_DETOUR_SHARERS;
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
		engine->ranks[r].detour = NULL;
	}
	if (engine->detour_slots.base) {
		gt_cuda_pins.unpin(engine->detour_slots.base);
		engine->pinned_bytes -= engine->detour_slots.bytes;
	}
	gt_shared_memory_free(&engine->detour_slots);
}

/*
 * Go without detours from now on.  On callers' streams what is there stays
 * until the end: freeing it would wait for what runs, which may wait for this
 * call.
 */
static void gt_detour_forgo(struct gt_engine *engine, const char *why)
{
	char text[GT_NOTICE_MAX];

	engine->has_detours = 0;
	if (!gt_cuda_is_async(engine))
		gt_cuda_detour_release(engine);
	snprintf(text, sizeof(text),
		 "large messages take no detour through the host's memory: "
		 "%.150s (GTOPO_DETOUR=0: none is tried)",
		 why);
	gt_process_group_notice(&engine->group, 1, text);
}

const char *gt_cuda_staged_fault(const struct gt_engine *engine)
{
	return engine->sharers > GT_DETOUR_SHARERS
		       ? "more than 4 ranks of a GPU have too few queues"
		       : NULL;
}

/* How many meetings all ranks have come to, together. */
static uint64_t gt_staged_meetings(const struct gt_engine *engine)
{
	const struct gt_detour_slots *all = engine->detour_slots.base;
	uint64_t sum = 0;

	for (uint32_t r = 0; all && r < engine->plan->nranks; r++)
		sum += __atomic_load_n(&all[r].told, __ATOMIC_ACQUIRE);
	return sum;
}

/*
 * Callers' streams go on after an abort: ranks that were held up come to what
 * is left of theirs, and until then seem to be the ones that stopped.
 */
static void gt_staged_settle(const struct gt_engine *engine)
{
	const struct timespec some = {0, GT_STAGED_LOOK_NS};
	uint64_t before = gt_staged_meetings(engine), now;
	int quiet = 0;

	for (int looks = 0;
	     quiet < GT_STAGED_QUIET_LOOKS && looks < GT_STAGED_LOOKS_MOST;
	     looks++) {
		nanosleep(&some, NULL);
		now = gt_staged_meetings(engine);
		quiet = now == before ? quiet + 1 : 0;
		before = now;
	}
}

uint32_t gt_cuda_staged_laggard(const struct gt_engine *engine)
{
	const struct gt_detour_slots *all = engine->detour_slots.base;
	uint32_t n = engine->plan->nranks, last = n;
	uint64_t least = UINT64_MAX;

	if (gt_cuda_is_async(engine))
		gt_staged_settle(engine);
	for (uint32_t r = 0; all && r < n; r++) {
		uint64_t told = __atomic_load_n(&all[r].told, __ATOMIC_ACQUIRE);

		if (told < least)
			last = r;
		else if (told == least)
			last = n;
		if (told < least)
			least = told;
	}
	return last;
}

int gt_cuda_staged_need(struct gt_engine *engine, struct gt_err *err)
{
	int rc;

	if (engine->detour_slots.base)
		return GT_OK;
	rc = gt_detour_share(engine, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++)
		rc = gt_detour_make(engine, r, err);
	return rc;
}

static int gt_detour_make_all(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_world *world = engine->group.world;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_detour_share(engine, &why);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++)
		rc = gt_detour_make(engine, r, &why);
	if (world) {
		/*
		 * All processes end with the words of one that can have none.
		 */
		rc = gt_world_agree(world, rc ? GT_EINPUT : GT_OK, &why);
		if (gt_world_failed(world, err))
			return GT_ESYS;
		if (rc == GT_ESYS)
			return gt_err_set(err, rc, NULL, "%s", why.text);
	}
	if (!rc)
		return GT_OK;
	gt_detour_forgo(engine, why.text);
	return GT_ENO;
}

int gt_cuda_detour_need(struct gt_engine *engine, struct gt_err *err)
{
	return engine->choice.detour_permille && !engine->detour_slots.base
		       ? gt_detour_make_all(engine, err)
		       : GT_OK;
}

int gt_cuda_detour_reserve(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	int wanted = engine->config.best && plan->nranks == 2, rc;

	for (uint32_t i = 0; !engine->config.best && i < plan->nselect; i++)
		wanted |= plan->select[i].detour_permille != 0;
	if (!wanted || !engine->has_detours || engine->detour_slots.base)
		return GT_OK;
	rc = gt_detour_make_all(engine, err);
	return rc == GT_ENO ? GT_OK : rc;
}
