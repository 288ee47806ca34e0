/*
 * The three roles of a block share its program, its tasks and its place in
 * them.
 */
#ifndef GT_KERNELS_INTERP_BLOCK_CUH
#define GT_KERNELS_INTERP_BLOCK_CUH

#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/move.cuh"

struct gt_block {
	struct gt_task tasks[GT_TASKS];
	struct gt_kernel_channel channel;
	struct gt_layout layout;
	uint32_t index, worker; /* the channel's */
	/* The block's state lies in dynamic shared memory: */
	struct gt_step *steps;
	struct gt_kernel_conn *conns;
	struct gt_range *parts; /* of the chunks; or of the steps */
	uint64_t *seen;         /* of the connections' flags */
};

/*
 * Notes for a trace what a slice has come to; slices past the block's last mark
 * are not noted.
 */
static __device__ __forceinline__ void gt_mark(
	const struct gt_kernel_args *args, uint32_t slice, uint32_t what)
{
	uint64_t at = (uint64_t)blockIdx.x * args->nmarks + slice;

	if (slice < args->nmarks)
		args->marks[at].at_ns[what] = gt_now_ns();
}

/* A cursor says where a role is in the program. */
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

/* Goes on to the next slice; returns false behind the last one. */
static __device__ bool gt_cursor_next(struct gt_cursor *at,
				      const struct gt_block *block,
				      uint32_t turn)
{
	at->slice++;
	if (++at->loop < at->turn)
		return true;
	at->loop = 0;
	at->step += gt_step_nrecords(&block->steps[at->step]);
	if (at->step < block->channel.nrecords)
		return true;
	at->step = 0;
	at->loop0 += at->turn;
	gt_cursor_turn(at, block, turn);
	return at->turn != 0;
}

/*
 * Returns the number, within its connection, of the slice that an operand is
 * about.
 */
static __device__ uint64_t gt_cursor_number(const struct gt_cursor *at,
					    const struct gt_operand *operand,
					    const struct gt_kernel_conn *conn)
{
	return conn->base + (uint64_t)at->loop0 * conn->uses +
	       operand->chunk * at->turn + at->loop;
}

/*
 * Returns a slice of the worker's part of a chunk.  Where blocks differ the
 * part is the step's own: its operands all are of the chunk that it moves.
 */
static __device__ struct gt_range gt_block_slice(
	const struct gt_kernel_args *args, const struct gt_block *block,
	const struct gt_cursor *at, uint32_t chunk)
{
	uint32_t most = block->layout.slice_elems, loop = at->loop0 + at->loop;
	struct gt_range slice = block->parts[args->spans ? at->step : chunk];
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
 * Returns where a slice of step scratch lies; each loop has its own, so none is
 * written twice.
 */
static __device__ char *gt_block_scratch(const struct gt_kernel_args *args,
					 const struct gt_block *block,
					 uint32_t place, uint32_t loop)
{
	const struct gt_layout *layout = &block->layout;
	uint64_t slice = (uint64_t)place * layout->nworkers + block->worker;

	return args->scratch +
	       block->index / args->nlanes * args->scratch_bytes +
	       (slice * layout->loops + loop) * args->slot_pitch;
}

#endif
