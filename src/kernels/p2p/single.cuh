/* One operation in a launch, as packets; group.cuh has several. */
#ifndef GT_KERNELS_P2P_SINGLE_CUH
#define GT_KERNELS_P2P_SINGLE_CUH

#include "kernels/p2p/packet.cuh"

/*
 * That a flow has one shot is known at compile time, since much of the code is
 * about a second one.
 */
static __device__ __forceinline__ void gt_packets_one_shot(
	struct gt_packet_part *part)
{
	struct gt_p2p *flow = &part->flow;

	flow->end = 0;
	flow->via = flow->back = flow->first = 0;
	if (flow->takes != GT_P2P_NOTHING)
		flow->takes = GT_P2P_BLOCKS;
	part->ll_buffer_at = 0;
}

template <class T, class R, class P, bool TWO>
__global__ void __launch_bounds__(GT_PACKET_THREADS, 1)
	gt_packet(const __grid_constant__ struct gt_packet_args args)
{
	struct gt_packet_part part = args.part;
	struct gt_ll_context at;
	uint64_t number;

	gt_launch_args(&args);
	if (!TWO)
		gt_packets_one_shot(&part);
	at.guard = &args.guard;
	at.part = TWO ? &args.part : &part;
	at.ll_buffer = args.ll_buffer;
	at.lane = threadIdx.x % 32;
	at.warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	at.warps = gridDim.x * blockDim.x / 32;
	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	/*
	 * The first chunks are loaded while the operation's number is, and sent
	 * with it.
	 */
	number = gt_epoch_peek(args.guard.epoch);
	at.flag = (uint32_t)number;
	gt_guard_mark_own(&args.guard, &args.part.flow, 0, GT_MARK_SINCE);
	gt_packets_send<T, P>(&at);
	gt_epoch_count(args.guard.epoch, number);
	gt_packets_answer<T, R, P>(&at);
	gt_guard_mark_own(&args.guard, &args.part.flow, 0, GT_MARK_DONE);
}

#endif
