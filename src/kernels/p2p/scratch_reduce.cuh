/*
 * Reductions through scratch: everyone pushes pieces of its blocks into the
 * scratch of who adds them up, and that one writes sums to all who get them.
 * Half of each block of threads sends, the other half adds up what has come:
 * the wire is always busy with one or the other.
 *
 * The senders of block w post in word w how many rounds of their pieces are
 * there.  Who has heard so of everyone knows, too, that everyone has begun, so
 * outputs may be written.  At the end all blocks meet: then all scratch was
 * read and all output is there.
 */
#ifndef GT_KERNELS_P2P_SCRATCH_REDUCE_CUH
#define GT_KERNELS_P2P_SCRATCH_REDUCE_CUH

#include "kernels/p2p.h"
#include "kernels/kernels.h"
#include "kernels/device/block_reduce.cuh"
#include "kernels/device/stage.cuh"

enum : uint32_t {
	GT_SCRATCH_TEAM = GT_DIRECT_THREADS / 2,
	GT_SCRATCH_GATE = 1,   /* barriers: of adders, of senders */
	GT_SCRATCH_UNROLL = 4, /* packs that a sender has in flight */
};

/* A team is one half of a block. */
struct gt_scratch_team {
	const struct gt_scratch_args *args;
	struct gt_stages stages;
	struct gt_block_reduce *reductions; /* [nranks], shared: by distance */
	uint32_t self, gate;
};

static __device__ __forceinline__ void gt_scratch_sync(
	const struct gt_scratch_team *at)
{
	asm volatile("bar.sync %0, %1;" ::"r"(at->gate),
		     "r"((uint32_t)GT_SCRATCH_TEAM)
		     : "memory");
}

static __device__ __forceinline__ bool gt_scratch_and(
	const struct gt_scratch_team *at, bool go)
{
	uint32_t all;

	asm volatile("{ .reg .pred p, q;\n"
		     "setp.ne.u32 p, %1, 0;\n"
		     "bar.red.and.pred q, %2, %3, p;\n"
		     "selp.u32 %0, 1, 0, q; }"
		     : "=r"(all)
		     : "r"((uint32_t)go), "r"(at->gate),
		       "r"((uint32_t)GT_SCRATCH_TEAM)
		     : "memory");
	return all;
}

static __device__ __forceinline__ uint64_t
gt_scratch_pieces(const struct gt_scratch_args *args, uint64_t count)
{
	return (count + args->piece - 1) / args->piece;
}

/* Reduces piece p of a reduction; there is nothing to do behind its end. */
template <class T, class R, int U>
static __device__ __forceinline__ void gt_scratch_piece(
	const struct gt_scratch_team *at,
	const struct gt_block_reduce *reduction, uint64_t p)
{
	uint64_t most = at->args->piece, begin = p * most, left;

	if (begin >= reduction->count)
		return;
	left = reduction->count - begin;
	gt_block_reduce_part<T, R, U>(reduction,
				      {begin, left < most ? left : most},
				      {at->self, GT_SCRATCH_TEAM});
}

/* One thread sets up what goes to rank d. */
template <class T>
static __device__ __forceinline__ void gt_scratch_block(
	const struct gt_scratch_args *args, uint32_t d,
	struct gt_block_reduce *reduction)
{
	const struct gt_p2p *flow = &args->flow;

	reduction->nsrc = reduction->ndst = 1;
	reduction->src[0] = args->input + d * flow->in_stride * sizeof(T);
	reduction->dst[0] = args->theirs[d];
	reduction->divide = 0;
	reduction->count = gt_p2p_count(flow, d);
}

template <class T>
static __device__ __forceinline__ void gt_scratch_send(
	const struct gt_scratch_team *at)
{
	const struct gt_scratch_args *args = at->args;
	uint32_t n = args->flow.nranks, round = 0;
	uint64_t pieces = gt_scratch_pieces(args, args->flow.count);

	if (at->self && at->self < n)
		gt_scratch_block<T>(args, (args->flow.me + at->self) % n,
				    &at->reductions[at->self]);
	gt_scratch_sync(at);
	for (uint64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
		for (uint32_t i = 1; i < n; i++)
			gt_scratch_piece<T, gt_copies<T>, GT_SCRATCH_UNROLL>(
				at, &at->reductions[i], p);
		gt_scratch_sync(at);
		gt_stage_tell(&at->stages, at->self, blockIdx.x, ++round);
	}
}

/* One thread sets up what is added up here, and who gets it. */
template <class T>
static __device__ __forceinline__ void gt_scratch_sum(
	const struct gt_scratch_args *args, struct gt_block_reduce *reduction)
{
	const struct gt_p2p *flow = &args->flow;
	uint32_t n = flow->nranks, me = flow->me;
	uint64_t skip = me * flow->in_stride * sizeof(T);

	reduction->nsrc = n;
	for (uint32_t s = 0; s < n; s++)
		reduction->src[s] =
			s == me ? args->input + skip : args->mine[s];
	skip = me * flow->out_stride * sizeof(T);
	reduction->ndst = flow->flags & GT_P2P_SPREAD ? n : 1;
	for (uint32_t i = 0; i < reduction->ndst; i++)
		reduction->dst[i] = args->output[(me + i) % n] + skip;
	reduction->divide = flow->divide;
	reduction->count = gt_p2p_count(flow, me);
}

template <class T, class R>
static __device__ __forceinline__ bool gt_scratch_add(
	const struct gt_scratch_team *at)
{
	const struct gt_scratch_args *args = at->args;
	uint32_t round = 0;
	uint64_t pieces;

	if (!at->self)
		gt_scratch_sum<T>(args, at->reductions);
	gt_scratch_sync(at);
	pieces = gt_scratch_pieces(args, at->reductions->count);
	for (uint64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
		if (!gt_scratch_and(at, gt_stage_hear(&at->stages, at->self,
						      blockIdx.x, ++round)))
			return false;
		gt_scratch_piece<T, R, GT_BLOCK_REDUCE_UNROLL>(
			at, at->reductions, p);
	}
	return true;
}

template <class T, class R>
__global__ void __launch_bounds__(GT_DIRECT_THREADS, 1)
	gt_scratch(const __grid_constant__ struct gt_scratch_args args)
{
	__shared__ struct gt_block_reduce reductions[GT_P2P_RANKS];
	const uint32_t end = GT_DIRECT_STAGES - 1;
	uint32_t sends = threadIdx.x / GT_SCRATCH_TEAM;
	struct gt_scratch_team at;
	uint64_t number;
	bool go = true;

	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	number = gt_epoch_take(args.guard.epoch);
	at = {&args,
	      {&args.guard, args.flags, number, args.flow.me, args.flow.nranks},
	      reductions,
	      threadIdx.x % GT_SCRATCH_TEAM,
	      GT_SCRATCH_GATE + sends};
	/*
	 * The half that adds waits for pieces, so it needs no barrier at the
	 * beginning.
	 */
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_SINCE);
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_READY);
	/*
	 * The reduction of distance 0 belongs to the half that adds, the others
	 * to the half that sends.
	 */
	if (sends)
		gt_scratch_send<T>(&at);
	else
		go = gt_scratch_add<T, R>(&at);
	if (!__syncthreads_and(go))
		return;
	gt_guard_mark_own(&args.guard, &args.flow, 0, GT_MARK_DONE);
	gt_stage_tell(&at.stages, threadIdx.x, blockIdx.x, end);
	go = gt_stage_hear(&at.stages, threadIdx.x, blockIdx.x, end);
	gt_stage_mark(&at.stages, threadIdx.x, true);
	if (!__syncthreads_and(go))
		return;
	gt_guard_mark_own(&args.guard, &args.flow, 1, GT_MARK_DONE);
}

#endif
