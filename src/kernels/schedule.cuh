/*
 * What the roles of a block share, and the scheduler.
 */
#ifndef GT_KERNELS_SCHEDULE_CUH
#define GT_KERNELS_SCHEDULE_CUH

#include "kernels/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/move.cuh"
#include "kernels/wait.cuh"

struct gt_block {
	struct gt_task tasks[GT_TASKS];
	struct gt_kernel_channel channel;
	struct gt_layout layout;
	uint32_t index, worker; /* the channel's */
	/* In dynamic shared memory: */
	struct gt_step *steps;
	struct gt_kernel_conn *conns;
	struct gt_range *parts; /* of the chunks */
	uint64_t *seen;         /* of the connections' flags */
};

/* Where a role is in the program. */
struct gt_cursor {
	uint32_t loop0, turn; /* this turn's first loop, and its loops */
	uint32_t step, loop;  /* loop - within the turn */
	uint32_t slice;
};

static __device__ void gt_cursor_turn(struct gt_cursor *at,
				      const struct gt_block *block,
				      uint32_t turn)
{
	uint32_t left = block->layout.loops - at->loop0;

	at->turn = left < turn ? left : turn;
}

/* On to the next slice; false behind the last. */
static __device__ bool gt_cursor_next(struct gt_cursor *at,
				      const struct gt_block *block,
				      uint32_t turn)
{
	at->slice++;
	if (++at->loop < at->turn)
		return true;
	at->loop = 0;
	if (++at->step < block->channel.nsteps)
		return true;
	at->step = 0;
	at->loop0 += at->turn;
	gt_cursor_turn(at, block, turn);
	return at->turn != 0;
}

/* The number in its connection of the slice that a FIFO operand uses. */
static __device__ uint64_t gt_cursor_number(const struct gt_cursor *at,
					    const struct gt_operand *operand,
					    const struct gt_kernel_conn *conn)
{
	return conn->base + (uint64_t)at->loop0 * conn->uses +
	       operand->chunk * at->turn + at->loop;
}

/* A wait goes on: tell the host, look whether to give up. */
static __device__ __noinline__ bool gt_wait_lasts(
	const struct gt_kernel_args *args, const struct gt_block *block,
	const struct gt_kernel_conn *conn, const struct gt_cursor *at,
	uint64_t *begin_ns)
{
	volatile struct gt_kernel_report *report = &args->reports[blockIdx.x];
	uint64_t now = gt_now_ns();

	if (!*begin_ns)
		*begin_ns = now;
	if (now - *begin_ns > GT_TELL_NS && report->state == GT_KERNEL_SILENT) {
		report->peer = conn->peer;
		report->channel = block->index;
		report->step = block->steps[at->step].id;
		report->slice = at->slice;
		report->state = conn->sends ? GT_KERNEL_WAIT_CREDIT
					    : GT_KERNEL_WAIT_DATA;
	}
	if (now - *begin_ns > args->timeout_ns)
		gt_watch_abort(args->watch);
	return !gt_watch_aborted(args->watch);
}

static __device__ bool gt_wait(const struct gt_kernel_args *args,
			       const struct gt_block *block, uint32_t c,
			       uint64_t value, const struct gt_cursor *at)
{
	const struct gt_kernel_conn *conn = &block->conns[c];
	uint64_t begin_ns = 0;
	uint32_t spins = 0;

	if (block->seen[c] >= value)
		return true;
	while ((block->seen[c] = gt_flag_read(conn->wait)) < value)
		if (++spins % GT_SPINS == 0 &&
		    !gt_wait_lasts(args, block, conn, at, &begin_ns))
			return false;
	if (begin_ns)
		args->reports[blockIdx.x].state = GT_KERNEL_SILENT;
	return true;
}

/* A FIFO operand: wait if it says so, then say where the slot is. */
static __device__ bool gt_schedule_slot(const struct gt_kernel_args *args,
					struct gt_block *block,
					const struct gt_operand *operand,
					const struct gt_cursor *at, char **slot)
{
	const struct gt_kernel_conn *conn = &block->conns[operand->conn];
	uint64_t number = gt_cursor_number(at, operand, conn);
	uint64_t need = number + 1;

	*slot = conn->slots +
		(number & (args->nslots - 1)) * (uint64_t)args->slot_pitch;
	if (!(operand->flags & GT_OPERAND_WAIT))
		return true;
	if (conn->sends)
		need = need > args->nslots ? need - args->nslots : 0;
	return gt_wait(args, block, operand->conn, need, at);
}

/* For who carries the slot on: how much of it; posted with the slice. */
static __device__ void gt_schedule_length(const struct gt_kernel_args *args,
					  const struct gt_block *block,
					  const struct gt_operand *operand,
					  const struct gt_cursor *at,
					  uint32_t bytes)
{
	const struct gt_kernel_conn *conn = &block->conns[operand->conn];
	uint64_t number;

	if (!conn->lengths)
		return;
	number = gt_cursor_number(at, operand, conn);
	conn->lengths[number & (args->nslots - 1)] = bytes;
}

static __device__ struct gt_range gt_block_slice(const struct gt_block *block,
						 uint32_t chunk, uint32_t loop)
{
	uint32_t most = block->layout.slice_elems;
	struct gt_range slice = block->parts[chunk];
	uint64_t skip = (uint64_t)loop * most;

	if (skip > slice.count)
		skip = slice.count;
	slice.offset += skip;
	slice.count -= skip;
	if (slice.count > most)
		slice.count = most;
	return slice;
}

/*
 * Data lies in a slot as far from a 16-byte boundary as in the whole buffer,
 * which both ends know, so that most moves are of whole packs.
 */
static __device__ bool gt_schedule_slice(const struct gt_kernel_args *args,
					 struct gt_block *block,
					 const struct gt_cursor *at,
					 uint32_t elem_bytes)
{
	const struct gt_step *step = &block->steps[at->step];
	struct gt_task *task = &block->tasks[at->slice % GT_TASKS];
	uint32_t loop = at->loop0 + at->loop;
	struct gt_range slice = gt_block_slice(block, step->chunk, loop), own;
	uint32_t skew = (uint32_t)(slice.offset * elem_bytes) & 15;

	for (uint32_t i = 0; i < step->nsrc + (uint32_t)step->ndst; i++) {
		const struct gt_operand *operand = &step->operand[i];
		char *to;

		if (operand->buf == GT_BUF_FIFO) {
			if (!gt_schedule_slot(args, block, operand, at, &to))
				return false;
			task->at[i] = to + skew;
			gt_schedule_length(args, block, operand, at,
					   skew + (uint32_t)slice.count *
							   elem_bytes);
			continue;
		}
		own = gt_block_slice(block, operand->chunk, loop);
		if (operand->buf == GT_BUF_INPUT)
			task->at[i] =
				(char *)args->input +
				(own.offset - args->input_first) * elem_bytes;
		else
			task->at[i] =
				(char *)args->output +
				(own.offset - args->output_first) * elem_bytes;
	}
	task->count = (uint32_t)slice.count;
	task->nsrc = step->nsrc;
	task->ndst = step->ndst;
	task->divide = args->op == GT_REDOP_AVG && step->flags & GT_STEP_FINAL
			       ? args->nranks
			       : 0;
	return true;
}

/* True: go on.  A stalled rank still leaves when everyone is told to. */
static __device__ bool gt_fault_passes(const struct gt_kernel_args *args,
				       uint32_t slice)
{
	if (!args->fault || slice < args->fault_slice)
		return true;
	while (args->fault == GT_KERNEL_FAULT_STALL &&
	       !gt_watch_aborted(args->watch))
		__nanosleep(10000);
	return false;
}

/* A warp, whose first lane works. */
static __device__ void gt_schedule(const struct gt_kernel_args *args,
				   struct gt_block *block, uint32_t elem_bytes,
				   uint32_t lane)
{
	uint32_t movers = args->threads + 32, slice;
	struct gt_cursor at = {};
	int go = 0;

	gt_cursor_turn(&at, block, args->turn);
	do {
		slice = at.slice;
		if (slice >= GT_TASKS)
			gt_gate_wait(GT_GATE_FREE, slice, 64);
		if (!lane) {
			go = gt_fault_passes(args, slice) &&
			     gt_schedule_slice(args, block, &at, elem_bytes);
			block->tasks[slice % GT_TASKS].stop = !go;
		}
		go = __shfl_sync(~0u, go, 0);
		gt_gate_arrive(GT_GATE_READY, slice, movers);
	} while (go && gt_cursor_next(&at, block, args->turn));
	/* Leave no gate half open. */
	at.slice = slice + 1 > GT_TASKS ? slice + 1 - GT_TASKS : 0;
	for (; at.slice <= slice; at.slice++)
		gt_gate_wait(GT_GATE_FREE, at.slice, 64);
}

#endif
