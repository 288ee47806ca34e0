/*
 * Puts a rank's blocks on its copy engines, one peer after the other, and the
 * reductions beside them on a second stream.
 */
#include "exec/cuda/p2p/copy_engine.h"

#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "exec/cuda/p2p/detour.h"
#include "plan/ir/plan.h"

enum {
	GT_CE_GRAIN_BYTES = 4096, /* pieces begin at multiples of it */
	GT_CE_PACK_BYTES = 16,    /* what kernels move at once */
	/*
	 * A kernel moves so many bytes while the engines get going.  2 H200
	 * took in graphs, in us with none, 2, 4 and 8 MiB: 64 MiB broadcast
	 * 189, 186, 185.5, 187, sent both ways 198, 189, 187, 188, all-gather
	 * of 2 x 64 MiB 193, 188, 187, 188.
	 */
	GT_CE_HEAD_BYTES = 4 << 20,
};

/* Find piece k of block b. */
static struct gt_ce_piece gt_ce_piece_of(const struct gt_ce *at, uint32_t b,
					 uint32_t k)
{
	uint32_t n = at->engine->choice.pieces;
	uint64_t len = gt_p2p_count(&at->flow, b) * at->elem_bytes;
	struct gt_ce_piece piece;
	uint64_t end = gt_cut(len, k + 1, n, GT_CE_GRAIN_BYTES);

	piece.begin = gt_cut(len, k, n, GT_CE_GRAIN_BYTES);
	piece.bytes = end - piece.begin;
	return piece;
}

struct gt_ce_piece gt_ce_whole(const struct gt_ce *at, uint32_t b)
{
	return (struct gt_ce_piece){0, gt_p2p_count(&at->flow, b) *
					       at->elem_bytes};
}

void gt_ce_copy(struct gt_ce *at, char *to, const char *from, uint64_t bytes)
{
	if (!bytes)
		return;
	gt_ce_try(at, (cudaError_t)gt_cuda_trace_copy_begin(
			      at->engine, at->rank, at->copies, to, bytes));
	if (at->rc == cudaSuccess)
		gt_ce_try(at, cudaMemcpyAsync(to, from, bytes,
					      cudaMemcpyDeviceToDevice,
					      at->copies));
	gt_ce_try(at, (cudaError_t)gt_cuda_trace_copy_end(at->engine, at->rank,
							  at->copies));
}

char *gt_ce_scratch(const struct gt_ce *at, uint32_t d, uint32_t s)
{
	uint32_t n = at->flow.nranks;
	char *base = gt_cuda_pulls(at->engine)
			     ? gt_cuda_held_at(at->engine, at->rank, d)
			     : gt_cuda_region_at(at->engine, GT_CUDA_SCRATCH,
						 at->rank, d);

	return base + ((s + n - d) % n - 1) * at->flow.count * at->elem_bytes;
}

static struct gt_direct_args gt_ce_args(const struct gt_ce *at)
{
	struct gt_direct_args args = {
		.guard = gt_cuda_guard_of(at->engine, at->rank),
		.flow = at->flow,
		.one_word = 1};

	args.guard.marks = gt_cuda_trace_kernel(at->engine, at->rank);
	for (uint32_t r = 0; r < at->flow.nranks; r++)
		args.flags[r] = gt_cuda_p2p_flags(at->engine, at->rank, r);
	return args;
}

void gt_ce_barrier(struct gt_ce *at, uint32_t stage, cudaStream_t stream)
{
	if (at->rc == cudaSuccess)
		gt_ce_try(at, (cudaError_t)gt_cuda_barrier_launch(
				      at->engine, at->rank, stage,
				      stage == GT_CE_END, stream));
}

void gt_ce_after(struct gt_ce *at, cudaStream_t to, cudaStream_t from)
{
	if (to == from)
		return;
	if (at->rc == cudaSuccess)
		gt_ce_try(at, cudaEventRecord(at->me->done, from));
	if (at->rc == cudaSuccess)
		gt_ce_try(at, cudaStreamWaitEvent(to, at->me->done, 0));
}

/* Kernels beside copies go in the lane, or else on a stream of their own. */
static cudaStream_t gt_ce_beside(const struct gt_ce *at)
{
	return at->engine->shares_wire ? at->me->stream : at->me->side;
}

static struct gt_kernel_grid gt_ce_grid(const struct gt_ce *at)
{
	return (struct gt_kernel_grid){.dtype = at->req->dtype,
				       .op = at->req->op,
				       .blocks = at->engine->choice.blocks,
				       .threads = at->engine->choice.threads,
				       .stream = gt_ce_beside(at)};
}

/*
 * Move the first `count` elements of the blocks for `to` by a kernel, beside
 * the copies.
 */
static void gt_ce_block_reduce(struct gt_ce *at, uint32_t to, uint64_t count,
			       uint32_t stage)
{
	struct gt_direct_args args = gt_ce_args(at);
	struct gt_kernel_grid grid = gt_ce_grid(at);

	args.flow.to = to;
	args.flow.count = count;
	args.input[at->rank] = at->input;
	for (uint32_t r = 0; r < at->flow.nranks; r++)
		args.output[r] =
			gt_cuda_span_of(at->engine, at->req, at->rank, r)
				.output;
	args.begin_post = args.begin_wait = stage;
	args.moves = 1;
	if (at->rc == cudaSuccess)
		gt_ce_try(at, (cudaError_t)gt_direct_run(&grid, &args));
}

void gt_ce_keep(struct gt_ce *at)
{
	gt_ce_block_reduce(at, 1u << at->rank,
			   gt_cuda_takes_detour(at->engine, at->req)
				   ? at->req->count
				   : at->flow.count,
			   0);
}

const char *gt_ce_from(const struct gt_ce *at, uint32_t d)
{
	return at->input + d * at->flow.in_stride * at->elem_bytes;
}

/* Find this rank's block of an output; gt_ce_to() finds it in rank d's. */
static char *gt_ce_result(const struct gt_ce *at, char *output)
{
	return output + at->rank * at->flow.out_stride * at->elem_bytes;
}

static char *gt_ce_to(const struct gt_ce *at, uint32_t d)
{
	struct gt_cuda_span span =
		gt_cuda_span_of(at->engine, at->req, at->rank, d);

	return gt_ce_result(at, span.output);
}

/* How many bytes of each block go to others by a kernel, not by an engine? */
static uint64_t gt_ce_head(const struct gt_ce *at)
{
	uint32_t others = at->flow.to & ~(1u << at->rank);
	uint64_t bytes = at->flow.count * at->elem_bytes / 2;
	uint32_t n = (uint32_t)__builtin_popcount(others);

	/*
	 * Traces show the copies, and should show all.  Where ranks share a
	 * GPU, and perhaps a queue, no more should wait than must.
	 */
	if (!n || at->req->trace || at->engine->sharers ||
	    at->engine->choice.waits_apart || gt_cuda_pulls(at->engine))
		return 0;
	/*
	 * Kernels would move single elements where a block's ends are not
	 * aligned alike.
	 */
	for (uint32_t d = 0; d < at->flow.nranks; d++)
		if (others >> d & 1 && ((uintptr_t)gt_ce_from(at, d) ^
					(uintptr_t)gt_ce_to(at, d)) %
					       GT_CE_PACK_BYTES)
			return 0;
	if (bytes > GT_CE_HEAD_BYTES / n)
		bytes = GT_CE_HEAD_BYTES / n;
	return bytes / GT_CE_GRAIN_BYTES * GT_CE_GRAIN_BYTES;
}

/* From here on a detour may go beside what follows. */
static void gt_ce_detour(struct gt_ce *at)
{
	if (gt_cuda_takes_detour(at->engine, at->req) && at->rc == cudaSuccess)
		gt_ce_try(at, (cudaError_t)gt_cuda_detour_begin(at->engine,
								at->rank));
}

/*
 * Rank r holds what others get of its input, without gaps: the blocks behind
 * its own one, then those before it.  Find block b.
 */
static char *gt_ce_held_block(const struct gt_ce *at, uint32_t r, uint32_t b)
{
	uint32_t n = at->flow.nranks;
	uint64_t before = at->flow.in_stride ? (b + n - r) % n - 1 : 0;

	return gt_cuda_held_at(at->engine, at->rank, r) +
	       before * at->flow.count * at->elem_bytes;
}

/* How many blocks from d on lie one behind the other, held and in the input? */
static uint32_t gt_ce_run(const struct gt_ce *at, uint32_t d)
{
	if (at->req->part_count) /* something is left out between blocks */
		return 1;
	return (d > at->rank ? at->flow.nranks : at->rank) - d;
}

void gt_ce_hold(struct gt_ce *at)
{
	uint64_t bytes = at->flow.count * at->elem_bytes;
	uint32_t run;

	if (!(at->flow.to & ~(1u << at->rank)))
		return;
	if (!at->flow.in_stride) {
		gt_ce_copy(at, gt_ce_held_block(at, at->rank, 0), at->input,
			   bytes);
		return;
	}
	for (uint32_t i = 1; i < at->flow.nranks; i += run) {
		uint32_t d = gt_ce_peer(at, i);

		run = gt_ce_run(at, d);
		gt_ce_copy(at, gt_ce_held_block(at, at->rank, d),
			   gt_ce_from(at, d), run * bytes);
	}
}

void gt_ce_pull(struct gt_ce *at, int sums)
{
	const struct gt_p2p *flow = &at->flow;
	uint64_t out = flow->out_stride * at->elem_bytes;

	for (uint32_t i = 1; i < flow->nranks; i++) {
		uint32_t s = gt_ce_peer(at, i);
		const char *from =
			sums ? gt_cuda_held_at(at->engine, at->rank, s)
			     : gt_ce_held_block(at, s, at->rank);

		if (sums || flow->from >> s & 1)
			gt_ce_copy(at, at->output + s * out, from,
				   gt_p2p_count(flow, s) * at->elem_bytes);
	}
}

/* Send blocks to those that get them, but for their first `head` bytes. */
static void gt_ce_push(struct gt_ce *at, uint64_t head)
{
	uint64_t bytes = at->flow.count * at->elem_bytes;

	for (uint32_t i = 1; i < at->flow.nranks; i++) {
		uint32_t d = gt_ce_peer(at, i);

		if (at->flow.to >> d & 1)
			gt_ce_copy(at, gt_ce_to(at, d) + head,
				   gt_ce_from(at, d) + head, bytes - head);
	}
}

/*
 * Copy blocks to their places, behind a barrier.  Kernels move beside the
 * copies the own block, which would hold them up, and the head.  Copies come 8
 * us after the barrier; till then the kernel, which waits itself, has moved as
 * many bytes as they would have.  It tells the others before it waits, as the
 * barrier does: either may come first.
 */
static void gt_ce_blocks(struct gt_ce *at)
{
	const struct gt_p2p *flow = &at->flow;
	uint64_t head = gt_ce_head(at);
	uint32_t own = flow->to & 1u << at->rank;
	/* A branch without work would only collect edges of a graph. */
	int beside = head || own;

	if (beside)
		gt_ce_after(at, gt_ce_beside(at), at->me->stream);
	gt_ce_barrier(at, GT_CE_BEGIN, at->me->stream);
	if (head)
		gt_ce_block_reduce(at, flow->to & ~own, head / at->elem_bytes,
				   GT_CE_BEGIN);
	if (own)
		gt_ce_keep(at);
	gt_ce_detour(at);
	if (gt_cuda_pulls(at->engine))
		gt_ce_pull(at, 0);
	else
		gt_ce_push(at, head);
	if (beside)
		gt_ce_after(at, at->me->stream, gt_ce_beside(at));
}

void gt_ce_scatter(struct gt_ce *at, uint32_t d, struct gt_ce_piece piece)
{
	if (!(at->flow.to >> d & 1))
		return;
	gt_ce_copy(at, gt_ce_scratch(at, d, at->rank) + piece.begin,
		   gt_ce_from(at, d) + piece.begin, piece.bytes);
}

void gt_ce_reduce(struct gt_ce *at, uint32_t k)
{
	struct gt_direct_args args = gt_ce_args(at);
	struct gt_ce_piece piece = gt_ce_piece_of(at, at->rank, k);
	struct gt_kernel_grid grid = gt_ce_grid(at);

	for (uint32_t s = 0; s < at->flow.nranks; s++)
		args.input[s] =
			(s == at->rank ? gt_ce_from(at, s)
				       : gt_ce_scratch(at, at->rank, s)) +
			piece.begin;
	args.output[at->rank] = gt_ce_result(at, at->output) + piece.begin;
	/* A sum takes the place of a part that it is made of. */
	if (gt_cuda_pulls(at->engine) && at->flow.flags & GT_P2P_SPREAD)
		args.also = gt_cuda_held_at(at->engine, at->rank, at->rank) +
			    piece.begin;
	args.flow.flags = GT_P2P_REDUCE;
	args.flow.count = piece.bytes / at->elem_bytes;
	args.flow.end = args.flow.in_stride = args.flow.out_stride = 0;
	args.moves = 1;
	gt_ce_after(at, grid.stream, at->me->stream);
	if (at->engine->choice.waits_apart || !(at->flow.flags & GT_P2P_REDUCE))
		gt_ce_barrier(at, GT_CE_BEGIN + k, grid.stream);
	else
		args.begin_post = args.begin_wait = GT_CE_BEGIN + k;
	if (at->rc == cudaSuccess && at->flow.flags & GT_P2P_REDUCE)
		gt_ce_try(at, (cudaError_t)gt_direct_run(&grid, &args));
}

/* Send a piece of the own result to rank d. */
static void gt_ce_spread(struct gt_ce *at, uint32_t d, struct gt_ce_piece piece)
{
	gt_ce_copy(at, gt_ce_to(at, d) + piece.begin,
		   gt_ce_result(at, at->output) + piece.begin, piece.bytes);
}

/*
 * Send the result to all: to the first in pieces, each behind its reduction.
 * The events wait in the order of pieces, so the last of them is enough for the
 * others.
 */
static void gt_ce_spread_all(struct gt_ce *at)
{
	uint32_t n = at->engine->choice.pieces, first = gt_ce_peer(at, 1);

	for (uint32_t k = 0; k < n; k++) {
		if (at->rc == cudaSuccess)
			gt_ce_try(at,
				  cudaStreamWaitEvent(at->me->stream,
						      at->me->reduced[k], 0));
		gt_ce_spread(at, first, gt_ce_piece_of(at, at->rank, k));
	}
	for (uint32_t i = 2; i < at->flow.nranks; i++)
		gt_ce_spread(at, gt_ce_peer(at, i), gt_ce_whole(at, at->rank));
}

/*
 * Each rank's block goes to it from all; from the last in pieces, each of
 * which is reduced while the next is on its way.  At any time everyone sends
 * to another.  Nobody's scratch is written before its last operation has ended
 * everywhere: the barrier at the end.  Nobody's output is written before it
 * has begun: it has sent something.
 */
static void gt_ce_add_up(struct gt_ce *at)
{
	uint32_t n = at->engine->choice.pieces, ranks = at->flow.nranks;
	uint32_t last = gt_ce_peer(at, ranks - 1);
	int spreads =
		at->flow.flags & GT_P2P_SPREAD && !gt_cuda_pulls(at->engine);

	gt_ce_detour(at);
	for (uint32_t i = 1; i < ranks - 1; i++) {
		uint32_t d = gt_ce_peer(at, i);

		gt_ce_scatter(at, d, gt_ce_whole(at, d));
	}
	for (uint32_t k = 0; k < n; k++) {
		gt_ce_scatter(at, last, gt_ce_piece_of(at, last, k));
		gt_ce_reduce(at, k);
		if (spreads && at->rc == cudaSuccess)
			gt_ce_try(at, cudaEventRecord(at->me->reduced[k],
						      gt_ce_beside(at)));
	}
	if (!spreads)
		gt_ce_after(at, at->me->stream, gt_ce_beside(at));
}

/* Bring the sums to all that get them. */
static void gt_ce_hand_out(struct gt_ce *at)
{
	if (!(at->flow.flags & GT_P2P_SPREAD))
		return;
	if (!gt_cuda_pulls(at->engine)) {
		gt_ce_spread_all(at);
		return;
	}
	gt_ce_barrier(at, GT_CE_SUMMED, at->me->stream);
	gt_ce_pull(at, 1);
}

struct gt_ce gt_ce_of(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);

	return (struct gt_ce){
		.engine = engine,
		.req = req,
		.me = &engine->ranks[rank],
		.flow = gt_cuda_p2p_of(engine, req, engine->choice.algo, rank),
		.rank = rank,
		.copies = engine->ranks[rank].stream,
		.elem_bytes = gt_dtype_bytes(req->dtype),
		.input = gt_cuda_p2p_overwrites(req) && !gt_cuda_pulls(engine)
				 ? gt_cuda_region_at(engine, GT_CUDA_SCRATCH,
						     rank, rank)
				 : span.input,
		.output = span.output};
}

int gt_cuda_ce_launch(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank)
{
	struct gt_ce at = gt_ce_of(engine, req, rank);

	if (gt_coll_reduces(req->coll)) {
		gt_ce_add_up(&at);
		gt_ce_hand_out(&at);
	} else {
		if (gt_cuda_pulls(engine))
			gt_ce_hold(&at);
		gt_ce_blocks(&at);
	}
	if (gt_cuda_takes_detour(engine, req) && at.rc == cudaSuccess)
		gt_ce_try(&at, (cudaError_t)gt_cuda_detour_launch(engine, req,
								  rank));
	gt_ce_barrier(&at, GT_CE_END, at.me->stream);
	return (int)at.rc;
}
