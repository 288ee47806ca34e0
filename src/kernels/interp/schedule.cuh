/* The scheduler waits for what a slice needs, and says where it lies. */
#ifndef GT_KERNELS_INTERP_SCHEDULE_CUH
#define GT_KERNELS_INTERP_SCHEDULE_CUH

#include "kernels/interp/block.cuh"
#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/wait.cuh"

/* While a wait goes on, tells the host of it and looks whether to abort. */
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

/* This is the slice that the scheduler is at. */
struct gt_ahead {
	const struct gt_kernel_args *args;
	struct gt_block *block;
	const struct gt_cursor *at;
	uint32_t elem_bytes;
	uint32_t bytes, skew; /* in a slot: skew behind its begin */
};

/* Returns where an operand lies in the rank's own input or output. */
static __device__ char *gt_ahead_user(const struct gt_ahead *ahead,
				      const struct gt_operand *operand)
{
	const struct gt_kernel_args *args = ahead->args;
	struct gt_range own =
		gt_block_slice(args, ahead->block, ahead->at, operand->chunk);

	if (operand->buf == GT_BUF_INPUT)
		return (char *)args->input +
		       (own.offset - args->input_first) * ahead->elem_bytes;
	return (char *)args->output +
	       (own.offset - args->output_first) * ahead->elem_bytes;
}

/* Returns where an operand lies, or NULL if it has no bytes. */
static __device__ char *gt_ahead_operand(const struct gt_ahead *ahead,
					 const struct gt_operand *operand)
{
	const struct gt_kernel_args *args = ahead->args;
	const struct gt_kernel_conn *conn;
	uint64_t number;

	if (operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT)
		return gt_ahead_user(ahead, operand);
	if (operand->buf == GT_BUF_SCRATCH)
		return gt_block_scratch(args, ahead->block, operand->chunk,
					ahead->at->loop0 + ahead->at->loop) +
		       ahead->skew;
	if (operand->buf != GT_BUF_FIFO)
		return NULL;
	conn = &ahead->block->conns[operand->conn];
	number = gt_cursor_number(ahead->at, operand, conn);
	return conn->slots +
	       (number & (args->nslots - 1)) * (uint64_t)args->slot_pitch +
	       ahead->skew;
}

/* Waits until the operand's data have come, or until there is room for them. */
static __device__ bool gt_ahead_wait(const struct gt_ahead *ahead,
				     const struct gt_operand *operand)
{
	uint32_t nslots = ahead->args->nslots;
	const struct gt_kernel_conn *conn = &ahead->block->conns[operand->conn];
	uint64_t need = gt_cursor_number(ahead->at, operand, conn) + 1;

	if (conn->sends)
		need = need > nslots ? need - nslots : 0;
	return gt_wait(ahead->args, ahead->block, operand->conn, need,
		       ahead->at);
}

/*
 * Notes how many bytes of the slot are used, for the proxy that carries it on;
 * this is posted with the slice.
 */
static __device__ void gt_ahead_length(const struct gt_ahead *ahead,
				       const struct gt_operand *operand)
{
	const struct gt_kernel_conn *conn = &ahead->block->conns[operand->conn];
	uint64_t number = gt_cursor_number(ahead->at, operand, conn);

	if (conn->lengths)
		conn->lengths[number & (ahead->args->nslots - 1)] =
			operand->buf == GT_BUF_FIFO ? ahead->skew + ahead->bytes
						    : 0;
}

/*
 * The sources, which are waited for longest, come last, so the task is complete
 * right behind the last wait.
 */
static __device__ bool gt_ahead_waits(const struct gt_ahead *ahead,
				      const struct gt_step *step)
{
	for (uint32_t i = step->nsrc + (uint32_t)step->ndst; i-- > 0;) {
		const struct gt_operand *operand = gt_step_operand(step, i);

		if (!(operand->flags & (GT_OPERAND_WAIT | GT_OPERAND_POST)))
			continue;
		if (operand->flags & GT_OPERAND_WAIT &&
		    !gt_ahead_wait(ahead, operand))
			return false;
		gt_ahead_length(ahead, operand);
	}
	return true;
}

/*
 * Data lies in a slot as far from a 16-byte boundary as in the whole buffer,
 * which both ends know, so that most moves are of whole packs; where they have
 * other names for it, at the boundary.
 */
static __device__ bool gt_schedule_slice(struct gt_ahead *ahead)
{
	struct gt_block *block = ahead->block;
	const struct gt_kernel_args *args = ahead->args;
	const struct gt_step *step = &block->steps[ahead->at->step];
	struct gt_task *task = &block->tasks[ahead->at->slice % GT_TASKS];
	struct gt_range slice =
		gt_block_slice(args, block, ahead->at, step->chunk);
	uint32_t n = 0, nsrc = 0;

	ahead->bytes = (uint32_t)slice.count * ahead->elem_bytes;
	ahead->skew =
		args->renames
			? 0
			: (uint32_t)(slice.offset * ahead->elem_bytes) & 15;
	for (uint32_t i = 0; i < step->nsrc + (uint32_t)step->ndst; i++) {
		char *to = gt_ahead_operand(ahead, gt_step_operand(step, i));

		if (!to)
			continue;
		task->at[n++] = to;
		nsrc += i < step->nsrc;
	}
	task->nsrc = nsrc;
	task->ndst = n - nsrc;
	task->count = nsrc && n > nsrc ? (uint32_t)slice.count : 0;
	task->divide = args->op == GT_REDOP_AVG && step->flags & GT_STEP_FINAL
			       ? args->nranks
			       : 0;
	return gt_ahead_waits(ahead, step);
}

/*
 * Returns true to go on. A stalled rank still leaves when everyone is told to.
 */
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

/* The scheduler is a warp whose first lane works. */
static __device__ void gt_schedule(const struct gt_kernel_args *args,
				   struct gt_block *block, uint32_t elem_bytes,
				   uint32_t lane)
{
	uint32_t movers = args->threads + 32, slice;
	struct gt_cursor at = {};
	struct gt_ahead ahead = {.args = args,
				 .block = block,
				 .at = &at,
				 .elem_bytes = elem_bytes};
	int go = 0;

	gt_cursor_turn(&at, block, args->turn);
	do {
		slice = at.slice;
		if (slice >= GT_TASKS)
			gt_gate_wait(GT_GATE_FREE, slice, 64);
		if (!lane) {
			gt_mark(args, slice, GT_MARK_SINCE);
			go = gt_fault_passes(args, slice) &&
			     gt_schedule_slice(&ahead);
			block->tasks[slice % GT_TASKS].stop = !go;
			gt_mark(args, slice, GT_MARK_READY);
		}
		go = __shfl_sync(~0u, go, 0);
		gt_gate_arrive(GT_GATE_READY, slice, movers);
	} while (go && gt_cursor_next(&at, block, args->turn));
	/*
	 * Arrives at every gate that others still wait at, so that none stays
	 * half open.
	 */
	at.slice = slice + 1 > GT_TASKS ? slice + 1 - GT_TASKS : 0;
	for (; at.slice <= slice; at.slice++)
		gt_gate_wait(GT_GATE_FREE, at.slice, 64);
}

#endif
