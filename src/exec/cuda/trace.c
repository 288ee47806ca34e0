/*
 * Traces a run: compares the GPUs' clocks with the host's before, and turns
 * what kernels and copies have noted into the trace's steps after.
 */
#include "exec/cuda/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "exec/cuda/p2p/p2p.h"
#include "exec/trace/marks.h"
#include "exec/trace/p2p.h"
#include "exec/trace/trace.h"
#include "plan/ir/plan.h"

enum {
	GT_CUDA_MARKS = 1 << 18, /* of the interpreter on a rank, at most */
	GT_CUDA_CLOCK_ROUNDS = 500,
	GT_CUDA_EVENT_ROUNDS = 3,
};

static const uint64_t gt_clock_limit_ns = 2000000000;

/*
 * The quickest answer is the most exact one: question and answer then took the
 * same way.  What is left is alike for all GPUs.
 */
static int64_t gt_clock_ask(struct gt_kernel_clock *clock)
{
	volatile struct gt_kernel_clock *at = clock;
	int64_t least = INT64_MAX, ahead = 0;
	int64_t limit = gt_clock_ns() + (int64_t)gt_clock_limit_ns;

	for (uint32_t round = 1; round <= GT_CUDA_CLOCK_ROUNDS; round++) {
		uint64_t before = at->told_ns;
		int64_t begin = gt_clock_ns(), end = begin;

		at->asked = round;
		while (at->told_ns == before && end < limit)
			end = gt_clock_ns();
		end = gt_clock_ns();
		if (end - begin >= least)
			continue;
		least = end - begin;
		ahead = (int64_t)at->told_ns - begin - least / 2;
	}
	return ahead;
}

/*
 * Find an event's place on the host's clock: a kernel tells the time behind it.
 */
static cudaError_t gt_trace_base(struct gt_cuda_rank *me,
				 struct gt_kernel_clock *clock)
{
	struct gt_cuda_tracing *tracing = me->tracing;
	cudaEvent_t behind = NULL;
	cudaError_t rc = cudaEventCreate(&behind);
	float ms = 0;

	if (rc == cudaSuccess)
		rc = cudaEventCreate(&tracing->base);
	clock->asked = 1;
	for (int i = 0; rc == cudaSuccess && i < GT_CUDA_EVENT_ROUNDS; i++) {
		rc = cudaEventRecord(tracing->base, me->own);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_clock_run(
				clock, 1, gt_clock_limit_ns, me->own);
		if (rc == cudaSuccess)
			rc = cudaEventRecord(behind, me->own);
		if (rc == cudaSuccess)
			rc = cudaEventSynchronize(behind);
		if (rc == cudaSuccess)
			rc = cudaEventElapsedTime(&ms, tracing->base, behind);
	}
	tracing->base_ns = (int64_t)clock->told_ns - tracing->ahead_ns -
			   (int64_t)((double)ms * 5e5);
	if (behind)
		cudaEventDestroy(behind);
	return rc;
}

static cudaError_t gt_trace_clocks(struct gt_cuda_rank *me)
{
	struct gt_kernel_clock *clock;
	cudaError_t rc = cudaMallocHost((void **)&clock, sizeof(*clock));

	if (rc != cudaSuccess)
		return rc;
	memset(clock, 0, sizeof(*clock));
	rc = (cudaError_t)gt_kernel_clock_run(clock, GT_CUDA_CLOCK_ROUNDS,
					      gt_clock_limit_ns, me->own);
	if (rc == cudaSuccess)
		me->tracing->ahead_ns = gt_clock_ask(clock);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->own);
	if (rc == cudaSuccess)
		rc = gt_trace_base(me, clock);
	cudaFreeHost(clock);
	return rc;
}

/* Find what packets and their watchers take for the number of the operation. */
static cudaError_t gt_trace_number(const struct gt_engine *engine,
				   struct gt_cuda_rank *me)
{
	struct gt_kernel_epoch epoch = {0};
	cudaError_t rc = cudaSuccess;

	if (me->epoch)
		rc = cudaMemcpyAsync(&epoch, me->epoch, sizeof(epoch),
				     cudaMemcpyDeviceToHost, me->own);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->own);
	me->tracing->number = epoch.count / GT_KERNEL_EPOCH + 1 +
			      !!gt_cuda_starts_together(engine);
	return rc;
}

/* How many slices does a block of the rank move at most? */
static uint64_t gt_trace_slices(const struct gt_engine *engine,
				const struct gt_cuda_programs *set)
{
	uint64_t most = 0;

	for (uint32_t p = 0; p < set->nprograms; p++) {
		uint64_t n = (uint64_t)set->programs[p].nsteps *
			     engine->layouts[p / set->nlanes].loops;

		if (n > most)
			most = n;
	}
	return most;
}

/*
 * How many marks does a block have in this run?  At least one, so that what is
 * left out is counted.  Where blocks differ, ranks have more steps and less.
 */
static uint32_t gt_trace_nmarks(const struct gt_engine *engine,
				enum gt_coll coll)
{
	const struct gt_process_group *group = &engine->group;
	uint64_t most = 1, room = GT_CUDA_MARKS;

	for (uint32_t r = group->first; r < group->end; r++) {
		const struct gt_cuda_programs *set =
			&engine->ranks[r].programs[coll];
		uint64_t slices = gt_trace_slices(engine, set);
		uint32_t blocks = set->nprograms * engine->slicing.workers;

		if (slices > most)
			most = slices;
		if (room > GT_CUDA_MARKS / blocks)
			room = GT_CUDA_MARKS / blocks;
	}
	if (most > room)
		most = room;
	return most ? (uint32_t)most : 1;
}

static cudaError_t gt_trace_open(const struct gt_engine *engine,
				 struct gt_cuda_rank *me, size_t nmarks)
{
	struct gt_cuda_tracing *tracing = me->tracing;
	size_t bytes = nmarks * sizeof(*tracing->marks);
	cudaError_t rc = cudaSetDevice(me->device);

	tracing->nmarks = nmarks;
	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&tracing->watch,
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&tracing->marks, bytes);
	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(tracing->marks, 0, bytes, me->own);
	if (rc == cudaSuccess)
		rc = gt_trace_number(engine, me);
	return rc == cudaSuccess ? gt_trace_clocks(me) : rc;
}

int gt_cuda_trace_begin(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[engine->group.first].programs[req->coll];
	size_t nmarks;

	if (gt_choice_is_p2p(&engine->choice)) {
		nmarks = (size_t)GT_CUDA_KERNELS * engine->choice.blocks *
			 GT_P2P_STAGES * GT_P2P_RANKS;
	} else {
		engine->nmarks = gt_trace_nmarks(engine, req->coll);
		nmarks = (size_t)engine->nmarks * set->nprograms *
			 engine->slicing.workers;
	}
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t rc;

		me->tracing = calloc(1, sizeof(*me->tracing));
		if (!me->tracing)
			return gt_err_nomem(err);
		rc = gt_trace_open(engine, me, nmarks);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "prepare the trace", err);
	}
	return GT_OK;
}

void gt_cuda_trace_end(struct gt_engine *engine)
{
	engine->nmarks = 0;
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_tracing *tracing = engine->ranks[r].tracing;

		engine->ranks[r].tracing = NULL;
		if (!tracing)
			continue;
		cudaSetDevice(engine->ranks[r].device);
		for (uint32_t i = 0; i < tracing->ncopies; i++) {
			cudaEventDestroy(tracing->copies[i].begin);
			cudaEventDestroy(tracing->copies[i].end);
		}
		if (tracing->base)
			cudaEventDestroy(tracing->base);
		if (tracing->watch)
			cudaStreamDestroy(tracing->watch);
		cudaFree(tracing->marks);
		free(tracing);
	}
}

static int gt_take_blocks(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank,
			  const struct gt_kernel_mark *marks,
			  struct gt_err *err)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[rank].programs[req->coll];
	const struct gt_trace_launch launch = {
		.programs = set->programs,
		.layouts = engine->layouts,
		.spans = engine->spans,
		.marks = marks,
		.nprograms = set->nprograms,
		.nlanes = set->nlanes,
		.nworkers = engine->slicing.workers,
		.nmarks = engine->nmarks,
		.rank = rank,
		.turn = engine->slicing.turn,
		.elem_bytes = (uint32_t)gt_dtype_bytes(req->dtype),
		.ahead_ns = engine->ranks[rank].tracing->ahead_ns};

	return gt_trace_add_launch(&launch, req->trace, err);
}

/* List what a rank's kernel of packets or direct stores sends, or fetches. */
static uint32_t gt_take_moved(const struct gt_engine *engine,
			      const struct gt_exec_request *req, uint32_t rank,
			      struct gt_trace_transfer *moved)
{
	struct gt_p2p flow =
		gt_cuda_p2p_of(engine, req, engine->choice.algo, rank);
	uint64_t elem = gt_dtype_bytes(req->dtype);
	int pulls = engine->choice.protocol == GT_PROTOCOL_DIRECT &&
		    flow.flags & GT_P2P_REDUCE &&
		    !gt_choice_is_scratch_reduce(&engine->choice, req->coll);
	uint64_t own = gt_p2p_count(&flow, rank) * elem;
	int spreads = !!(flow.flags & GT_P2P_SPREAD);
	uint32_t n = 0;

	for (uint32_t r = 0; r < flow.nranks; r++) {
		struct gt_trace_transfer sent = {.from = rank, .to = r};

		if (r == rank)
			continue;
		if (pulls)
			moved[n++] =
				(struct gt_trace_transfer){.bytes = own,
							   .from = r,
							   .to = rank,
							   .beside = spreads};
		else if (flow.to >> r & 1)
			sent.bytes = gt_p2p_count(&flow, r) * elem;
		if (spreads)
			sent.bytes += own;
		if (sent.bytes)
			moved[n++] = sent;
	}
	return n;
}

static cudaError_t gt_take_copies(const struct gt_cuda_tracing *tracing,
				  struct gt_trace_transfer *copies)
{
	cudaError_t rc = cudaSuccess;
	float begin, end;

	for (uint32_t i = 0; rc == cudaSuccess && i < tracing->ncopies; i++) {
		const struct gt_cuda_copy *copy = &tracing->copies[i];

		copies[i] = copy->moved;
		rc = cudaEventElapsedTime(&begin, tracing->base, copy->begin);
		if (rc == cudaSuccess)
			rc = cudaEventElapsedTime(&end, copy->begin, copy->end);
		if (rc != cudaSuccess)
			break;
		copies[i].begin_ns =
			tracing->base_ns + (int64_t)((double)begin * 1e6);
		copies[i].end_ns =
			copies[i].begin_ns + (int64_t)((double)end * 1e6);
	}
	return rc;
}

static int gt_take_flow(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			const struct gt_kernel_mark *marks, struct gt_err *err)
{
	const struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;
	struct gt_trace_transfer copies[GT_CUDA_COPIES];
	struct gt_trace_transfer moved[GT_TRACE_TRANSFERS_MAX];
	struct gt_trace_p2p flow = {.marks = marks,
				    .nkernels = tracing->nkernels,
				    .nblocks = engine->choice.blocks,
				    .watched = tracing->watched,
				    .rank = rank,
				    .nranks = engine->plan->nranks,
				    .ahead_ns = tracing->ahead_ns,
				    .moved = moved,
				    .copies = copies,
				    .ncopies = tracing->ncopies};
	cudaError_t rc = gt_take_copies(tracing, copies);

	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "time its copies",
				    err);
	if (engine->choice.protocol != GT_PROTOCOL_CE)
		flow.nmoved = gt_take_moved(engine, req, rank, moved);
	gt_trace_add_p2p(&flow, req->trace);
	return GT_OK;
}

static int gt_take_rank(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			struct gt_err *err)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	size_t bytes = me->tracing->nmarks * sizeof(*me->tracing->marks);
	struct gt_kernel_mark *marks = malloc(bytes);
	cudaError_t done;
	int rc;

	if (!marks)
		return gt_err_nomem(err);
	cudaSetDevice(me->device);
	done = cudaStreamSynchronize(me->tracing->watch);
	if (done == cudaSuccess)
		done = cudaMemcpy(marks, me->tracing->marks, bytes,
				  cudaMemcpyDeviceToHost);
	if (done != cudaSuccess)
		rc = gt_cuda_fail(engine, rank, (int)done, "read the trace",
				  err);
	else if (gt_choice_is_p2p(&engine->choice))
		rc = gt_take_flow(engine, req, rank, marks, err);
	else
		rc = gt_take_blocks(engine, req, rank, marks, err);
	free(marks);
	return rc;
}

int gt_cuda_trace_take(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++)
		rc = gt_take_rank(engine, req, r, err);
	return rc;
}
