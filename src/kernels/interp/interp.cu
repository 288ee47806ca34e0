/*
 * The interpreter of plan/ir/program.h: one block is one worker of one channel.
 *
 * Three roles share a block and pass tasks through gates: the scheduler (one
 * warp) waits for a slice's flags and writes its task; the movers move it; the
 * poster (one warp) posts its flags.  So waiting for the next slice and
 * announcing the last one cost the movers nothing.  Slices are numbered 0, 1,
 * ... by every role in the same order: turns of `turn` loops; in a turn the
 * steps; in a step the loops.
 */
#include "kernels/kernels.h"

#include "kernels/interp/block.cuh"
#include "kernels/device/flag.cuh"
#include "kernels/device/move.cuh"
#include "kernels/interp/schedule.cuh"
#include "kernels/device/type.cuh"
#include "kernels/table.h"

/*
 * The movers wait for a task and thereby for one another, so steps stay in
 * order.
 */
template <class T>
static __device__ void gt_do_moves(const struct gt_kernel_args *args,
				   struct gt_block *block, uint32_t self)
{
	uint32_t n = block->layout.loops * block->channel.nsteps;
	uint32_t movers = args->threads + 32;
	bool stop = false;

	for (uint32_t slice = 0; slice < n && !stop; slice++) {
		const struct gt_task *task = &block->tasks[slice % GT_TASKS];

		gt_gate_wait(GT_GATE_READY, slice, movers);
		stop = task->stop;
		if (!stop)
			gt_move<T>(task, args->op, self, args->threads);
		gt_gate_arrive(GT_GATE_DONE, slice, movers);
	}
}

/*
 * A post is the flag that a lane sets behind a slice, if its operand has one.
 */
struct gt_post {
	uint64_t *flag; /* NULL: nothing */
	uint64_t value;
};

static_assert(GT_KERNEL_OPERANDS <= 32, "a lane posts for an operand");

static __device__ struct gt_post gt_post_of(const struct gt_block *block,
					    const struct gt_cursor *at,
					    uint32_t lane)
{
	const struct gt_step *step = &block->steps[at->step];
	const struct gt_operand *operand = gt_step_operand(step, lane);
	const struct gt_kernel_conn *conn;

	if (lane >= step->nsrc + (uint32_t)step->ndst ||
	    !(operand->flags & GT_OPERAND_POST))
		return {};
	conn = &block->conns[operand->conn];
	return {conn->post, gt_cursor_number(at, operand, conn) + 1};
}

/*
 * The poster is a warp; it prepares what it will post before the gate lets it.
 */
static __device__ void gt_do_posts(const struct gt_kernel_args *args,
				   const struct gt_block *block, uint32_t lane)
{
	struct gt_cursor at = {};
	bool stop;

	gt_cursor_turn(&at, block, args->turn);
	do {
		struct gt_post post = gt_post_of(block, &at, lane);

		gt_gate_wait(GT_GATE_DONE, at.slice, args->threads + 32);
		stop = block->tasks[at.slice % GT_TASKS].stop;
		gt_gate_arrive(GT_GATE_FREE, at.slice, 64);
		if (stop)
			break;
		if (!lane)
			gt_mark(args, at.slice, GT_MARK_DONE);
		if (post.flag) {
			gt_flag_fence();
			gt_flag_post(post.flag, post.value);
		}
		if (!lane)
			gt_mark(args, at.slice, GT_MARK_POSTED);
	} while (gt_cursor_next(&at, block, args->turn));
}

/*
 * All threads find the parts of chunks; where blocks differ a step has its own,
 * by the pair whose block it moves.
 */
static __device__ void gt_block_divide(const struct gt_kernel_args *args,
				       struct gt_block *block)
{
	size_t pairs = (size_t)args->nranks * args->nranks;
	const struct gt_layout_span *spans = args->spans;
	uint32_t n = spans ? block->channel.nrecords : block->layout.nchunks;

	if (spans)
		spans += block->index / args->nlanes * pairs;
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
		const struct gt_step *step = &block->channel.steps[i];
		struct gt_layout own = gt_layout_of_pair(
			&block->layout, spans, spans ? step->pair : 0);

		block->parts[i] = gt_layout_part(&own, spans ? step->chunk : i,
						 block->worker);
	}
}

/* All threads load the program and its cursors into shared memory. */
static __device__ void gt_block_load(const struct gt_kernel_args *args,
				     struct gt_block *block, char *room)
{
	uint32_t self = threadIdx.x, all = blockDim.x;
	const struct gt_kernel_channel *from;
	const uint64_t *words;

	if (!self) {
		block->index = blockIdx.x / args->nworkers;
		block->worker = blockIdx.x % args->nworkers;
		block->channel = args->channels[block->index];
		block->layout = args->layouts[block->index / args->nlanes];
		from = &block->channel;
		block->steps = (struct gt_step *)room;
		block->conns = (struct gt_kernel_conn *)(block->steps +
							 from->nrecords);
		block->seen = (uint64_t *)(block->conns + from->nconns);
		block->parts = (struct gt_range *)(block->seen + from->nconns);
	}
	__syncthreads();
	from = &block->channel;
	words = (const uint64_t *)from->steps;
	for (uint32_t i = self; i < from->nrecords * sizeof(struct gt_step) / 8;
	     i += all)
		((uint64_t *)block->steps)[i] = words[i];
	for (uint32_t i = self; i < from->nconns; i += all) {
		block->conns[i] = from->conns[block->worker * from->nconns + i];
		block->seen[i] = 0;
	}
	if (block->layout.loops)
		gt_block_divide(args, block);
	__syncthreads();
}

/*
 * Saves the counters, so that the next launch on this stream goes on where this
 * one ended.
 */
static __device__ void gt_block_save(const struct gt_block *block)
{
	const struct gt_kernel_channel *to = &block->channel;

	for (uint32_t i = threadIdx.x; i < to->nconns; i += blockDim.x)
		to->conns[block->worker * to->nconns + i].base +=
			(uint64_t)block->layout.loops * block->conns[i].uses;
}

template <class T>
__global__ void __launch_bounds__(GT_KERNEL_MAX_THREADS +
				  GT_KERNEL_CONTROL_THREADS)
	gt_interp(const __grid_constant__ struct gt_kernel_args args)
{
	extern __shared__ __align__(16) char room[];
	__shared__ struct gt_block block;
	uint32_t self = threadIdx.x;

	gt_block_load(&args, &block, room);
	if (!block.layout.loops || !block.channel.nsteps)
		return;
	if (self < args.threads)
		gt_do_moves<T>(&args, &block, self);
	else if (self < args.threads + 32)
		gt_schedule(&args, &block, sizeof(T), self - args.threads);
	else
		gt_do_posts(&args, &block, self - args.threads - 32);
	__syncthreads();
	gt_block_save(&block);
}

const void *const GT_FOR_TYPE(gt_interp_kernel) = (const void *)
	gt_interp<GT_C_TYPE>;
