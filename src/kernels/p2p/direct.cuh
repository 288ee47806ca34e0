/*
 * Flows between registered buffers: every rank reads the others' inputs and
 * writes their outputs where they are, behind a barrier and before another.
 *
 * A barrier is a flag from everyone to everyone, per block: when a rank's
 * blocks have passed the last one, everybody's blocks have come to it, so all
 * of the rank's output is written and its input read.  Flags hold the number
 * of the operation and the stage in it and only grow.
 *
 * With copy engines the same kernel does what they cannot do, or not at once:
 * post a stage, wait for one, reduce what has arrived, keep the own block, move
 * the first bytes of the others'.
 */
#ifndef GT_KERNELS_P2P_DIRECT_CUH
#define GT_KERNELS_P2P_DIRECT_CUH

#include "kernels/p2p.h"
#include "kernels/kernels.h"
#include "kernels/device/block_reduce.cuh"
#include "kernels/device/stage.cuh"

static __device__ __forceinline__ struct gt_stages gt_direct_stages(
	const struct gt_direct_args *args, uint64_t number)
{
	return {&args->guard, args->flags, number, args->flow.me,
		args->flow.nranks};
}

/* Posts a stage; all threads call it, and stage 0 is left out. */
static __device__ void gt_direct_post(const struct gt_direct_args *args,
				      uint64_t number, uint32_t stage)
{
	struct gt_stages at = gt_direct_stages(args, number);

	if (!stage || (args->one_word && blockIdx.x))
		return;
	__syncthreads();
	gt_stage_tell(&at, threadIdx.x, blockIdx.x, stage);
}

static __device__ bool gt_direct_wait(const struct gt_direct_args *args,
				      uint64_t number, uint32_t stage)
{
	struct gt_stages at = gt_direct_stages(args, number);
	uint32_t word = args->one_word ? 0 : blockIdx.x;
	bool go;

	if (!stage)
		return true;
	go = gt_stage_hear(&at, threadIdx.x, word, stage);
	gt_stage_mark(&at, threadIdx.x, stage == args->end_wait);
	return __syncthreads_and(go);
}

/* Sets up the reduction of this rank's block from everyone, or for everyone. */
template <class T>
static __device__ void gt_block_reduce_reduce(const struct gt_direct_args *args,
					      struct gt_block_reduce *reduction)
{
	const struct gt_p2p *flow = &args->flow;
	uint32_t n = flow->nranks, me = flow->me;
	uint64_t skip = me * flow->out_stride * sizeof(T);

	reduction->nsrc = 0;
	for (uint32_t s = 0; s < n; s++)
		if (flow->adds >> s & 1)
			reduction->src[reduction->nsrc++] =
				args->input[s] +
				me * flow->in_stride * sizeof(T);
	reduction->ndst = flow->flags & GT_P2P_SPREAD ? n : 1;
	for (uint32_t i = 0; i < reduction->ndst; i++)
		reduction->dst[i] = args->output[(me + i) % n] + skip;
	if (args->also)
		reduction->dst[reduction->ndst++] = args->also;
	reduction->divide = flow->divide;
	reduction->count = gt_p2p_count(flow, me);
}

/*
 * Sets up the copy of this rank's block d to where rank d wants it; a block
 * that is the same for all goes to all at once.
 */
template <class T>
static __device__ void gt_block_reduce_copy(const struct gt_direct_args *args,
					    struct gt_block_reduce *reduction,
					    uint32_t d)
{
	const struct gt_p2p *flow = &args->flow;
	uint32_t n = flow->nranks, me = flow->me;
	uint64_t skip = me * flow->out_stride * sizeof(T);
	const char *in = args->input[me] + d * flow->in_stride * sizeof(T);

	reduction->nsrc = 1;
	reduction->ndst = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = (me + i) % n;

		if ((flow->in_stride && to != d) || !(flow->to >> to & 1) ||
		    args->output[to] + skip == in)
			continue;
		reduction->src[0] = in;
		reduction->dst[reduction->ndst++] = args->output[to] + skip;
	}
	reduction->divide = 0;
	reduction->count = reduction->ndst ? flow->count : 0;
}

/* Moves what goes to rank d; all threads call it. */
template <class T, class R>
static __device__ void gt_direct_to(const struct gt_direct_args *args,
				    struct gt_block_reduce *reduction,
				    uint32_t d, struct gt_thread_group group)
{
	__syncthreads();
	if (!threadIdx.x && args->flow.flags & GT_P2P_REDUCE)
		gt_block_reduce_reduce<T>(args, reduction);
	else if (!threadIdx.x)
		gt_block_reduce_copy<T>(args, reduction, d);
	__syncthreads();
	if (reduction->count)
		gt_block_reduce_run<T, R>(reduction, group);
}

/*
 * Some blocks only copy what stays on this rank, which would hold up what goes
 * over the link.
 */
template <class T, class R>
static __device__ void gt_direct_lift(const struct gt_direct_args *args,
				      struct gt_block_reduce *reduction)
{
	const struct gt_p2p *flow = &args->flow;
	bool keeps = blockIdx.x < args->keepers;
	uint32_t block = keeps ? blockIdx.x : blockIdx.x - args->keepers;
	uint32_t blocks = keeps ? args->keepers : gridDim.x - args->keepers;
	const struct gt_thread_group group = {(uint64_t)block * blockDim.x +
						      threadIdx.x,
					      (uint64_t)blocks * blockDim.x};

	if (keeps || flow->flags & GT_P2P_REDUCE || !flow->in_stride) {
		gt_direct_to<T, R>(args, reduction, flow->me, group);
		return;
	}
	for (uint32_t i = args->keepers ? 1 : 0; i < flow->nranks; i++)
		gt_direct_to<T, R>(args, reduction,
				   (flow->me + i) % flow->nranks, group);
}

template <class T, class R>
__global__ void __launch_bounds__(GT_DIRECT_THREADS, 1)
	gt_direct(const __grid_constant__ struct gt_direct_args args)
{
	__shared__ struct gt_block_reduce reduction;
	uint64_t number;

	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	/* Others' buffers may be gone if the barrier before was given up. */
	if (!args.begin_wait && args.guard.epoch->ended)
		return;
	number = args.last ? gt_epoch_take(args.guard.epoch)
			   : gt_epoch_peek(args.guard.epoch);
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_SINCE);
	gt_direct_post(&args, number, args.begin_post);
	if (!gt_direct_wait(&args, number, args.begin_wait))
		return;
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_READY);
	if (args.moves)
		gt_direct_lift<T, R>(&args, &reduction);
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_DONE);
	gt_direct_post(&args, number, args.end_post);
	if (!gt_direct_wait(&args, number, args.end_wait))
		return;
	gt_guard_mark_own(&args.guard, &args.flow, 1, GT_MARK_DONE);
}

#endif
