/*
 * One step of a lane: whether it can be done, what it moves, and the posts
 * behind it.
 */
#include "exec/host/host.h"

#include "base/clock.h"
#include "base/must.h"
#include "exec/host/reduce.h"
#include "exec/trace/trace.h"

static int gt_step_is_ready(const struct gt_host_lane *lane,
			    const struct gt_step *step)
{
	uint32_t n = (uint32_t)step->nsrc + step->ndst;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);
		struct gt_fifo_end *end = &lane->ends[operand->conn];

		if (!(operand->flags & GT_OPERAND_WAIT))
			continue;
		if (i < step->nsrc ? !gt_fifo_can_receive(end)
				   : !gt_fifo_can_send(end))
			return 0;
	}
	return 1;
}

/* The slice of a chunk that the step moves next: where blocks differ, of the
 * block of its pair. */
static struct gt_range gt_step_slice(const struct gt_host_lane *lane,
				     const struct gt_step *step, uint32_t chunk)
{
	struct gt_layout layout =
		gt_layout_of_pair(&lane->layout, lane->spans, step->pair);

	return gt_layout_slice(&layout, chunk, lane->worker, lane->loop);
}

/* Note how many bytes lie in the slot that is about to be announced. */
static void gt_step_note(const struct gt_host_rank *rank,
			 const struct gt_host_lane *lane,
			 const struct gt_step *step,
			 const struct gt_operand *operand)
{
	struct gt_fifo_end *end = &lane->ends[operand->conn];
	uint64_t count = gt_step_slice(lane, step, step->chunk).count;

	if (operand->buf != GT_BUF_FIFO)
		count = 0;
	end->lengths[end->at % end->nslots] =
		(uint32_t)(count * gt_dtype_bytes(rank->engine->req.dtype));
}

static void gt_step_post(const struct gt_host_rank *rank,
			 const struct gt_host_lane *lane,
			 const struct gt_step *step)
{
	uint32_t n = (uint32_t)step->nsrc + step->ndst;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);
		struct gt_fifo_end *end = &lane->ends[operand->conn];

		if (!(operand->flags & GT_OPERAND_POST))
			continue;
		if (i < step->nsrc) {
			/* The slot was waited for, here or in a step before. */
			GT_MUST(end->at < end->seen);
			gt_fifo_received(end);
		} else {
			GT_MUST(end->at - end->seen < end->nslots);
			if (end->lengths)
				gt_step_note(rank, lane, step, operand);
			gt_fifo_sent(end);
		}
		gt_bell_ring(end->other);
	}
}

/*
 * The number of a slice in scratch, which no other place, worker or loop has.
 */
static uint64_t gt_step_scratch(const struct gt_host_lane *lane, uint32_t place)
{
	uint64_t first = (uint64_t)place * lane->layout.nworkers + lane->worker;

	return first * lane->layout.loops + lane->loop;
}

/* The address of the operand's slice; NULL when it has no bytes. */
static char *gt_step_address(const struct gt_host_rank *rank,
			     const struct gt_host_lane *lane,
			     const struct gt_step *step,
			     const struct gt_operand *operand)
{
	size_t elem = gt_dtype_bytes(rank->engine->req.dtype);
	const struct gt_host_rank *of = rank;
	struct gt_range slice;

	if (operand->buf == GT_BUF_NONE)
		return NULL;
	if (operand->buf == GT_BUF_FIFO)
		return gt_fifo_slot(&lane->ends[operand->conn]);
	if (operand->buf == GT_BUF_SCRATCH)
		return lane->scratch + gt_step_scratch(lane, operand->chunk) *
					       rank->engine->pitch_bytes;
	if (operand->buf == GT_BUF_PEER_INPUT ||
	    operand->buf == GT_BUF_PEER_OUTPUT)
		of = &rank->engine
			      ->ranks[lane->program->conns[operand->conn].peer];
	slice = gt_step_slice(lane, step, operand->chunk);
	return gt_host_element(operand->buf == GT_BUF_INPUT ||
					       operand->buf == GT_BUF_PEER_INPUT
				       ? &of->input
				       : &of->output,
			       slice.offset, elem);
}

/*
 * The factor by which the operand is multiplied: what is read of an input has
 * its rank's.
 */
static const void *gt_step_times(const struct gt_host_rank *rank,
				 const struct gt_host_lane *lane,
				 const struct gt_operand *operand)
{
	const struct gt_host_rank *of = rank;

	if (!gt_exec_request_premultiplies(&rank->engine->req))
		return NULL;
	if (operand->buf == GT_BUF_PEER_INPUT)
		of = &rank->engine
			      ->ranks[lane->program->conns[operand->conn].peer];
	else if (operand->buf != GT_BUF_INPUT)
		return NULL;
	return of->times.at ? of->times.at : &of->times.bits;
}

static void gt_step_move(const struct gt_host_rank *rank,
			 const struct gt_host_lane *lane,
			 const struct gt_step *step)
{
	const struct gt_exec_request *req = &rank->engine->req;
	const void *by[2 * UINT8_MAX];
	char *at[2 * UINT8_MAX];
	struct gt_move move = {.dtype = req->dtype, .op = req->op};
	uint32_t n = (uint32_t)step->nsrc + step->ndst, used = 0;
	char *address;

	for (uint32_t i = 0; i < n; i++) {
		address = gt_step_address(rank, lane, step,
					  gt_step_operand(step, i));
		if (!address)
			continue;
		by[used] = gt_step_times(rank, lane, gt_step_operand(step, i));
		if (i < step->nsrc && by[used])
			move.by = by;
		at[used++] = address;
		if (i < step->nsrc)
			move.nsrc++;
		else
			move.ndst++;
	}
	move.src = (const char *const *)at;
	move.dst = at + move.nsrc;
	move.count = gt_step_slice(lane, step, step->chunk).count;
	if (step->flags & GT_STEP_FINAL && req->op == GT_REDOP_AVG)
		move.divide = rank->engine->nranks;
	gt_move_run(&move);
}

/* Move the lane on to its next step, slice or iteration. */
static void gt_step_advance(struct gt_host_lane *lane)
{
	while (lane->program->steps[lane->step].flags & GT_STEP_MORE)
		lane->step++;
	if (++lane->step < lane->program->nsteps)
		return;
	lane->step = 0;
	if (++lane->loop < lane->layout.loops)
		return;
	lane->loop = 0;
	lane->iter++;
}

/*
 * The rank at the other end of the operand's connection; GT_TRACE_NONE for
 * memory of the rank's own.
 */
static uint32_t gt_step_peer(const struct gt_host_lane *lane,
			     const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT ||
			       operand->buf == GT_BUF_SCRATCH
		       ? GT_TRACE_NONE
		       : lane->program->conns[operand->conn].peer;
}

static void gt_step_trace(const struct gt_host_rank *rank,
			  struct gt_host_lane *lane, const struct gt_step *step,
			  int64_t begin_ns)
{
	const struct gt_exec_request *req = &rank->engine->req;
	uint32_t n = (uint32_t)step->nsrc + step->ndst, peer;
	struct gt_trace_step what = {
		.since_ns = lane->since_ns ? lane->since_ns
					   : atomic_load_explicit(
						     &rank->engine->start_ns,
						     memory_order_relaxed),
		.begin_ns = begin_ns,
		.end_ns = gt_clock_ns(),
		.bytes = gt_step_slice(lane, step, step->chunk).count *
			 gt_dtype_bytes(req->dtype),
		.channel = lane->program->channel,
		.lane = lane->program->lane,
		.worker = lane->worker,
		.loop = lane->loop,
		.step = step->id,
		.op = step->op,
		.from = GT_TRACE_NONE,
		.to = GT_TRACE_NONE,
	};

	lane->since_ns = what.end_ns;
	for (uint32_t i = 0; i < n; i++) {
		peer = gt_step_peer(lane, gt_step_operand(step, i));
		if (peer == GT_TRACE_NONE)
			continue;
		if (i < step->nsrc && what.from == GT_TRACE_NONE)
			what.from = peer;
		if (i >= step->nsrc && what.to == GT_TRACE_NONE)
			what.to = peer;
		if (i >= step->nsrc)
			gt_trace_add_sent(req->trace, rank->rank, peer, &what);
	}
	gt_trace_add(req->trace, rank->rank, &what);
}

int gt_host_step(struct gt_host_rank *rank, struct gt_host_lane *lane)
{
	const struct gt_step *step = &lane->program->steps[lane->step];
	int64_t begin_ns;

	if (!gt_step_is_ready(lane, step))
		return 0;
	begin_ns = rank->engine->req.trace ? gt_clock_ns() : 0;
	gt_step_move(rank, lane, step);
	gt_step_post(rank, lane, step);
	if (rank->engine->req.trace)
		gt_step_trace(rank, lane, step, begin_ns);
	gt_step_advance(lane);
	return 1;
}
