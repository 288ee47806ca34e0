/*
 * Puts a piece of what copy engines move between processes, step by step, so
 * that those of the piece in the other lane can go between.
 *
 * Copies between GPUs follow each other on one stream, the caller's: side by
 * side each is slower than both one after the other.  All else of a piece is in
 * its lane.
 *
 * All pieces of what only moves but the last are sent to where the receiver
 * holds what it sends itself.  That needs no barrier before, and they are
 * copied from there while the next is on the wire.  The last is fetched: its
 * copy aside is beside the others' way.  So neither is waited for.
 */
#include "exec/cuda/p2p/copy_engine.h"

#include "plan/ir/plan.h"

/* A piece's way. */
struct gt_ce_way {
	struct gt_ce at;
	int is_ahead;       /* of what the others would fetch */
	int sends, fetches; /* on the wire */
	int waits;          /* there, until all have sent theirs */
};

static struct gt_ce_way gt_ce_way_of(const struct gt_engine *engine,
				     const struct gt_exec_request *req,
				     uint32_t rank)
{
	struct gt_ce_way way = {.at = gt_ce_of(engine, req, rank)};
	const struct gt_p2p *flow = &way.at.flow;
	uint32_t others = ~(1u << rank);
	int reduces = gt_coll_reduces(req->coll);

	way.is_ahead = gt_cuda_may_send_ahead(engine, req) &&
		       req->part_first + req->part_count < req->count;
	way.sends = (reduces || way.is_ahead) && flow->to & others;
	way.fetches = reduces ? (flow->flags & GT_P2P_SPREAD) != 0
			      : !way.is_ahead && flow->from & others;
	/*
	 * Who only fetches the last piece waits for those that others send
	 * before, as copies side by side are slower.  In a graph all meetings
	 * follow each other anyway.
	 */
	way.waits = way.fetches || (way.is_ahead && !way.at.me->capture);
	return way;
}

/* An edge between the wire and the lane, of which each lane has its own. */
static void gt_ce_mark(struct gt_ce *at, enum gt_cuda_edge edge,
		       cudaStream_t behind)
{
	if (at->rc == cudaSuccess)
		gt_ce_try(at,
			  cudaEventRecord(at->me->edges[at->engine->lane][edge],
					  behind));
}

static void gt_ce_heed(struct gt_ce *at, enum gt_cuda_edge edge,
		       cudaStream_t stream)
{
	if (at->rc == cudaSuccess)
		gt_ce_try(at,
			  cudaStreamWaitEvent(
				  stream, at->me->edges[at->engine->lane][edge],
				  0));
}

/* Send blocks to where those that get them hold theirs, or add them up. */
static void gt_ce_send(struct gt_ce *at)
{
	for (uint32_t i = 1; i < at->flow.nranks; i++) {
		uint32_t d = gt_ce_peer(at, i);

		gt_ce_scatter(at, d, gt_ce_whole(at, d));
	}
}

/* Copy what others have sent ahead to its places. */
static void gt_ce_take_in(struct gt_ce *at)
{
	const struct gt_p2p *flow = &at->flow;
	uint64_t out = flow->out_stride * at->elem_bytes;

	for (uint32_t i = 1; i < flow->nranks; i++) {
		uint32_t s = gt_ce_peer(at, i);

		if (flow->from >> s & 1)
			gt_ce_copy(at, at->output + s * out,
				   gt_ce_scratch(at, at->rank, s),
				   flow->count * at->elem_bytes);
	}
}

/* Others have ended the lane's piece before: this one takes its place. */
static void gt_ce_start(struct gt_ce_way *way)
{
	struct gt_ce *at = &way->at;

	if (way->sends) {
		at->copies = at->me->caller;
		gt_ce_after(at, at->copies, at->me->stream);
		gt_ce_send(at);
		gt_ce_mark(at, GT_CUDA_EDGE_SENT, at->copies);
	} else if (!way->is_ahead && !gt_coll_reduces(at->req->coll)) {
		gt_ce_hold(at);
	}
}

/* When all have sent, or hold, what they have: sums are made here. */
static void gt_ce_meet(struct gt_ce_way *way)
{
	struct gt_ce *at = &way->at;
	cudaStream_t lane = at->me->stream;

	if (way->sends)
		gt_ce_heed(at, GT_CUDA_EDGE_SENT, lane);
	if (gt_coll_reduces(at->req->coll))
		gt_ce_reduce(at, 0);
	else
		gt_ce_barrier(at, GT_CE_BEGIN, lane);
	if (at->flow.flags & GT_P2P_SPREAD)
		gt_ce_barrier(at, GT_CE_SUMMED, lane);
	if (way->waits)
		gt_ce_mark(at, GT_CUDA_EDGE_MET, lane);
}

static void gt_ce_move(struct gt_ce_way *way)
{
	struct gt_ce *at = &way->at;
	int reduces = gt_coll_reduces(at->req->coll);

	if (way->waits)
		gt_ce_heed(at, GT_CUDA_EDGE_MET, at->me->caller);
	if (way->fetches) {
		at->copies = at->me->caller;
		gt_ce_pull(at, reduces);
		gt_ce_mark(at, GT_CUDA_EDGE_FETCHED, at->copies);
	}
	at->copies = at->me->stream;
	if (!reduces && at->flow.to >> at->rank & 1)
		gt_ce_keep(at);
	if (way->is_ahead)
		gt_ce_take_in(at);
}

static void gt_ce_end(struct gt_ce_way *way)
{
	struct gt_ce *at = &way->at;

	if (way->fetches)
		gt_ce_heed(at, GT_CUDA_EDGE_FETCHED, at->me->stream);
	gt_ce_barrier(at, GT_CE_END, at->me->stream);
}

int gt_cuda_ce_step(const struct gt_engine *engine,
		    const struct gt_exec_request *req, uint32_t rank,
		    enum gt_cuda_step step)
{
	static void (*const steps[])(struct gt_ce_way *) = {
		[GT_CUDA_STEP_START] = gt_ce_start,
		[GT_CUDA_STEP_MEET] = gt_ce_meet,
		[GT_CUDA_STEP_MOVE] = gt_ce_move,
		[GT_CUDA_STEP_END] = gt_ce_end,
	};
	struct gt_ce_way way = gt_ce_way_of(engine, req, rank);

	steps[step](&way);
	return (int)way.at.rc;
}
