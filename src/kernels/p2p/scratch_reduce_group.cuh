/*
 * Several reductions of a group through scratch, as scratch_reduce.cuh does
 * one: their slices lie one behind another, as if they were one slice, of which
 * a piece may have the end of one operation and the beginning of the next.
 */
#ifndef GT_KERNELS_P2P_SCRATCH_REDUCE_GROUP_CUH
#define GT_KERNELS_P2P_SCRATCH_REDUCE_GROUP_CUH

#include "kernels/p2p/scratch_reduce.cuh"

/*
 * A half of a block; its reductions are those of the operation that it has come
 * to.
 */
struct gt_scratch_group_team {
	const struct gt_scratch_group_args *args;
	struct gt_scratch_team half;
	uint32_t first, end; /* of the lifts */
};

static __device__ __forceinline__ uint32_t
gt_scratch_group_begin(const struct gt_scratch_group_args *args, uint32_t op)
{
	return op ? args->ops[op - 1].end_line : 0;
}

/* Returns the operation that a line belongs to. */
static __device__ __forceinline__ uint32_t
gt_scratch_group_find(const struct gt_scratch_group_args *args, uint32_t line)
{
	uint32_t low = 0, high = args->nops - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (line < args->ops[middle].end_line)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Returns where rank d has what rank s sends it of an operation. */
static __device__ __forceinline__ char *gt_scratch_group_slot(
	const struct gt_scratch_group_args *args, uint32_t op, uint32_t d,
	uint32_t s)
{
	uint32_t n = args->nranks;
	uint64_t line = (uint64_t)((s + n - d) % n - 1) * args->lines +
			gt_scratch_group_begin(args, op);

	return args->scratch[d] + line * GT_SCRATCH_GROUP_LINE_BYTES;
}

/* Returns how many elements rank d's slice has. */
template <class T>
static __device__ __forceinline__ uint64_t
gt_scratch_group_count(const struct gt_scratch_group_op *op, uint32_t d)
{
	uint64_t begin = (uint64_t)op->slice * d;

	if (!op->spreads)
		return op->slice / sizeof(T);
	if (begin >= op->bytes)
		return 0;
	return (op->bytes - begin < op->slice ? op->bytes - begin : op->slice) /
	       sizeof(T);
}

/* One thread sets up what goes to the rank at this distance. */
template <class T>
static __device__ __forceinline__ void gt_scratch_group_block(
	const struct gt_scratch_group_args *args, uint32_t i, uint32_t distance,
	struct gt_block_reduce *reduction)
{
	const struct gt_scratch_group_op *op = &args->ops[i];
	uint32_t d = (args->me + distance) % args->nranks;

	reduction->nsrc = reduction->ndst = 1;
	reduction->src[0] = op->input + (uint64_t)op->slice * d;
	reduction->dst[0] = gt_scratch_group_slot(args, i, d, args->me);
	reduction->divide = 0;
	reduction->count = gt_scratch_group_count<T>(op, d);
}

/*
 * Sets up what is added up here and who gets it; thread s does so for rank s.
 */
template <class T>
static __device__ __forceinline__ void gt_scratch_group_sum(
	const struct gt_scratch_group_args *args, uint32_t i, uint32_t s,
	struct gt_block_reduce *reduction)
{
	const struct gt_scratch_group_op *op = &args->ops[i];
	uint32_t n = args->nranks, me = args->me, to = (me + s) % n;
	uint64_t skip = (uint64_t)op->slice * me;
	char *output = args->outputs[i * n + to];

	if (s >= n)
		return;
	reduction->src[s] = s == me ? op->input + skip
				    : gt_scratch_group_slot(args, i, me, s);
	reduction->dst[s] = op->spreads ? output + skip : output;
	if (s)
		return;
	reduction->nsrc = n;
	reduction->ndst = op->spreads ? n : 1;
	reduction->divide = op->divides ? n : 0;
	reduction->count = gt_scratch_group_count<T>(op, me);
}

/* All threads of the half turn to the next operation. */
template <class T>
static __device__ __forceinline__ void gt_scratch_group_turn_to(
	const struct gt_scratch_group_team *at, uint32_t i)
{
	uint32_t self = at->half.self;

	gt_scratch_sync(&at->half);
	if (!at->first)
		gt_scratch_group_sum<T>(at->args, i, self, at->half.reductions);
	else if (self >= at->first && self < at->end)
		gt_scratch_group_block<T>(at->args, i, self,
					  &at->half.reductions[self]);
	gt_scratch_sync(&at->half);
}

/*
 * Reduces lines `from` to `to`, counted over all operations; there is nothing
 * behind a reduction's end.
 */
template <class T, class R>
static __device__ void gt_scratch_group_lines(
	const struct gt_scratch_group_team *at, uint32_t begin, uint32_t end)
{
	const struct gt_scratch_group_args *args = at->args;
	const uint32_t line = GT_SCRATCH_GROUP_LINE_BYTES / sizeof(T);

	for (uint32_t i = gt_scratch_group_find(args, begin); begin < end;
	     i++) {
		uint32_t first = gt_scratch_group_begin(args, i);
		uint32_t last = args->ops[i].end_line;
		uint64_t from = (uint64_t)(begin - first) * line;
		uint64_t to =
			(uint64_t)((last < end ? last : end) - first) * line;

		gt_scratch_group_turn_to<T>(at, i);
		for (uint32_t l = at->first; l < at->end; l++) {
			const struct gt_block_reduce *reduction =
				&at->half.reductions[l];
			uint64_t stop =
				to < reduction->count ? to : reduction->count;

			if (from < stop)
				gt_block_reduce_part<T, R>(
					reduction, {from, stop - from},
					{at->half.self, GT_SCRATCH_TEAM});
		}
		begin = last;
	}
}

/* Does the team's part of every piece of the block. */
template <class T, class R>
static __device__ bool gt_scratch_group_run(
	const struct gt_scratch_group_team *at)
{
	const struct gt_scratch_group_args *args = at->args;
	uint32_t round = 0, piece = args->piece, end;

	for (uint32_t line = blockIdx.x * piece; line < args->lines;
	     line += gridDim.x * piece) {
		round++;
		if (!at->first &&
		    !gt_scratch_and(&at->half,
				    gt_stage_hear(&at->half.stages,
						  at->half.self, blockIdx.x,
						  round)))
			return false;
		end = line + piece < args->lines ? line + piece : args->lines;
		gt_scratch_group_lines<T, R>(at, line, end);
		if (!at->first)
			continue;
		gt_scratch_sync(&at->half);
		gt_stage_tell(&at->half.stages, at->half.self, blockIdx.x,
			      round);
	}
	return true;
}

template <class T, class R>
__global__ void __launch_bounds__(GT_DIRECT_THREADS, 1) gt_scratch_group(
	const __grid_constant__ struct gt_scratch_group_args args)
{
	__shared__ struct gt_block_reduce reductions[GT_P2P_RANKS];
	const uint32_t end = GT_DIRECT_STAGES - 1;
	uint32_t sends = threadIdx.x / GT_SCRATCH_TEAM;
	struct gt_scratch_group_team at;
	uint64_t number;
	bool go;

	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	number = gt_epoch_take(args.guard.epoch);
	at.args = &args;
	at.half = {nullptr,
		   {&args.guard, args.flags, number, args.me, args.nranks},
		   reductions,
		   threadIdx.x % GT_SCRATCH_TEAM,
		   GT_SCRATCH_GATE + sends};
	at.first = sends;
	at.end = sends ? args.nranks : 1;
	go = gt_scratch_group_run<T, R>(&at);
	if (!__syncthreads_and(go))
		return;
	gt_stage_tell(&at.half.stages, threadIdx.x, blockIdx.x, end);
	gt_stage_hear(&at.half.stages, threadIdx.x, blockIdx.x, end);
}

#endif
