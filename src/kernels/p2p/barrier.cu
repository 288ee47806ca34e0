/*
 * Barriers of all ranks, for what copy engines or other kernels do between
 * them.
 *
 * They wait in one warp, with at most 32 registers a thread and no shared
 * memory.  A matrix product leaves so much free on every multiprocessor, and
 * little more: a kernel that takes more waits until the product has ended, and
 * keeps the next one from the multiprocessors while it waits for other ranks.
 */
#include "kernels/device/stage.cuh"
#include "kernels/device/wait.cuh"
#include "kernels/table.h"

/* So many threads, twice on a multiprocessor, have 32 registers each. */
#define GT_BARRIER_BOUNDS __launch_bounds__(1024, 2)

static __global__ void GT_BARRIER_BOUNDS
gt_barrier(const __grid_constant__ struct gt_barrier_args args)
{
	const struct gt_kernel_guard *guard = &args.guard;
	uint32_t peer = threadIdx.x;
	struct gt_stages at;
	uint64_t number;

	if (!gt_guard_passes(guard))
		return;
	number = gt_epoch_peek(guard->epoch);
	at = {guard, args.flags, number, args.me, args.nranks};
	if (peer == args.me)
		gt_guard_mark(guard, 0, peer, GT_MARK_SINCE);
	gt_stage_tell(&at, peer, 0, args.stage);
	if (!gt_stage_hear(&at, peer, 0, args.stage))
		guard->epoch->ended = 1;
	gt_stage_mark(&at, peer, false);
	if (peer == args.me) {
		gt_guard_mark(guard, 0, peer, GT_MARK_READY);
		gt_guard_mark(guard, 0, peer, GT_MARK_DONE);
		gt_guard_mark(guard, 1, peer, GT_MARK_DONE);
	}
	if (args.last)
		gt_epoch_count(guard->epoch, number);
}

/*
 * A detour's flags lie in the host's memory as its bytes do
 * (exec/cuda/p2p/detour.c), so they arrive behind the bytes that they announce.
 */
static __global__ void GT_BARRIER_BOUNDS
gt_detour(const __grid_constant__ struct gt_detour_args args)
{
	uint64_t number = gt_epoch_peek(args.guard.epoch);
	uint64_t value = number * GT_DETOUR_MEETINGS + args.number;
	uint32_t peer = threadIdx.x;
	struct gt_wait wait = {};
	bool go = peer < args.nranks && peer != args.me;

	if (!gt_guard_passes(&args.guard))
		return;
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

const void *const gt_barrier_kernel = (const void *)gt_barrier;
const void *const gt_detour_kernel = (const void *)gt_detour;
