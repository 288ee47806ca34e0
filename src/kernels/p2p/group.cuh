/*
 * Several operations of a group in one launch, as packets: each has its warps
 * and its part of the LL buffers, and all share the number of the operation.
 */
#ifndef GT_KERNELS_P2P_GROUP_CUH
#define GT_KERNELS_P2P_GROUP_CUH

#include "kernels/p2p/packet.cuh"

/* Returns the operation that this warp belongs to, or nops if it has none. */
static __device__ __forceinline__ uint32_t
gt_group_find(const struct gt_group_args *args, uint32_t warp)
{
	uint32_t low = 0, high = args->nops;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (warp < args->ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Makes the arguments that the kernel for one operation would get, in elements.
 * A flow of two shots is an all-reduce.
 */
template <class T>
static __device__ __forceinline__ void gt_group_part(
	const struct gt_group_args *args, const struct gt_group_op *op,
	struct gt_packet_part *part)
{
	uint32_t all = (1u << args->nranks) - 1;
	bool spreads = op->flags & GT_P2P_SPREAD;
	bool reduces = op->flags & GT_P2P_REDUCE;

	part->flow.count = op->count / sizeof(T);
	part->flow.end = op->end / sizeof(T);
	part->flow.in_stride = op->in_stride / sizeof(T);
	part->flow.out_stride = op->out_stride / sizeof(T);
	part->flow.to = op->to;
	part->flow.from = op->from;
	part->flow.adds = reduces ? all : 0;
	part->flow.via = part->flow.back = spreads ? all : 0;
	part->flow.first = 0;
	part->flow.takes = spreads   ? GT_P2P_SUMS
			   : reduces ? GT_P2P_NOTHING
				     : GT_P2P_BLOCKS;
	part->flow.flags = op->flags;
	part->flow.me = args->me;
	part->flow.nranks = args->nranks;
	part->flow.divide = op->divide;
	part->input = op->input;
	part->output = op->output;
	part->part_bytes = (uint64_t)op->chunks * GT_CHUNK_BYTES;
	part->box_bytes = args->box_bytes[op->ll128];
	part->ll_buffer_at = args->ll_buffer_at[op->ll128] +
			     (uint64_t)op->ll_chunk * GT_CHUNK_BYTES;
	part->dtype = op->dtype;
	part->op = op->op;
}

template <class T, class R>
__global__ void __launch_bounds__(GT_GROUP_WARPS * 32, 1)
	gt_packet_group(const __grid_constant__ struct gt_group_args args)
{
	__shared__ struct gt_packet_part parts[GT_GROUP_WARPS];
	struct gt_packet_part *part = &parts[threadIdx.x / 32];
	uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t i = gt_group_find(&args, warp);
	struct gt_ll_context at = {};

	/* This part may run while the launch before still does. */
	at.lane = threadIdx.x % 32;
	if (i < args.nops && !at.lane)
		gt_group_part<T>(&args, &args.ops[i], part);
	__syncwarp();
	at.guard = &args.guard;
	at.part = part;
	at.ll_buffer = args.ll_buffer;
	if (i < args.nops) {
		uint32_t first = i ? args.ends[i - 1] : 0;

		at.warp = warp - first;
		at.warps = args.ends[i] - first;
	}
	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	at.flag = (uint32_t)gt_epoch_take(args.guard.epoch);
	if (i < args.nops && args.ops[i].ll128)
		gt_packets<T, R, gt_ll128>(&at);
	else if (i < args.nops)
		gt_packets<T, R, gt_ll>(&at);
}

#endif
