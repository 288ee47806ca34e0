/*
 * Barriers of a detour through the host's memory (exec/cuda/p2p/detour.c). The
 * flags lie there as well, so they arrive behind the bytes that they announce.
 */
#include "kernels/device/wait.cuh"
#include "kernels/table.h"

static __global__ void gt_detour(
	const __grid_constant__ struct gt_detour_args args)
{
	uint64_t number = gt_epoch_peek(args.guard.epoch);
	uint64_t value = number * GT_DETOUR_MEETINGS + args.number;
	uint32_t peer = threadIdx.x;
	struct gt_wait wait = {};
	bool go = peer < args.nranks && peer != args.me;

	if (peer == args.me) {
		gt_flag_fence();
		gt_flag_post(args.flags[peer], value);
	}
	while (go && gt_flag_read(args.flags[peer]) < value)
		go = gt_wait_goes_on(&args.guard, &wait, peer, args.number);
	gt_wait_ends(&args.guard, &wait);
	if (args.last)
		gt_epoch_count(args.guard.epoch, number);
}

const void *const gt_detour_kernel = (const void *)gt_detour;
