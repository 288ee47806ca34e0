/*
 * The kernels of p2p flows share this: how a launch begins, the number of the
 * operation, and waits that end when a rank has stopped.
 */
#ifndef GT_KERNELS_DEVICE_WAIT_CUH
#define GT_KERNELS_DEVICE_WAIT_CUH

#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"

enum : uint32_t { GT_SPINS = 1024 }; /* between looks at the clock */

constexpr uint64_t GT_TELL_NS = 20000000; /* a wait worth reporting */

/*
 * Launches overlap: the next operation's blocks are set up while this one runs,
 * and go on when all that it wrote is visible.
 */
static __device__ __forceinline__ void gt_launch_begins(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/*
 * Arguments lie in constant memory, of which a multiprocessor fetches what it
 * has not seen yet: 0.1 to 0.25 us in all, unless it is while the launch before
 * still runs.
 */
template <class A>
static __device__ __forceinline__ void gt_launch_args(const A *args)
{
	__shared__ volatile uint32_t seen;
	const uint32_t *words = (const uint32_t *)args;
	uint32_t all = 0;

#pragma unroll
	for (uint32_t i = 0; i < sizeof(A) / 4; i += 8)
		all ^= words[i];
	seen = all; /* or nothing would be read */
}

/*
 * The operation's number, counted on the device so that a graph can be
 * replayed: a block counts when all of its threads have read, so until the last
 * one has, everybody reads the same.  Nobody takes a ticket, whose number would
 * have to come back.
 */
static __device__ __forceinline__ uint64_t
gt_epoch_peek(const struct gt_kernel_epoch *epoch)
{
	return *(const volatile uint64_t *)&epoch->count / GT_KERNEL_EPOCH + 1;
}

/*
 * Counts the operation as read; all threads call it, each after its last use of
 * the number that it read. A launch of one block stores instead of adding,
 * which saves 0.15 us.
 */
static __device__ __forceinline__ void gt_epoch_count(
	struct gt_kernel_epoch *epoch, uint64_t number)
{
	unsigned long long mine = 1;

	if (!blockIdx.x)
		mine = GT_KERNEL_EPOCH - (gridDim.x - 1);
	__syncthreads();
	if (threadIdx.x)
		return;
	if (gridDim.x == 1)
		epoch->count = number * GT_KERNEL_EPOCH;
	else
		atomicAdd((unsigned long long *)&epoch->count, mine);
}

static __device__ __forceinline__ uint64_t
gt_epoch_take(struct gt_kernel_epoch *epoch)
{
	__shared__ uint64_t number;

	if (!threadIdx.x)
		number = gt_epoch_peek(epoch);
	__syncthreads();
	gt_epoch_count(epoch, number);
	return number;
}

struct gt_wait {
	uint64_t begin_ns;
	uint32_t spins;
};

/*
 * Tells the host who is waited for and looks whether to abort. Returns when the
 * wait began, or 0 if it is over.
 */
static __device__ __noinline__ uint64_t
gt_wait_looks(const struct gt_kernel_guard *guard, uint64_t begin_ns,
	      uint32_t peer, uint32_t step)
{
	volatile struct gt_kernel_report *report = &guard->reports[blockIdx.x];
	uint64_t now = gt_now_ns();

	if (!begin_ns)
		begin_ns = now;
	if (now - begin_ns > GT_TELL_NS && report->state == GT_KERNEL_SILENT) {
		report->peer = peer;
		report->channel = 0;
		report->step = step;
		report->state = GT_KERNEL_WAIT_DATA;
	}
	if (now - begin_ns > guard->timeout_ns)
		gt_watch_abort(guard->watch);
	return gt_watch_aborted(guard->watch) ? 0 : begin_ns;
}

/* Waits in one thread. */
static __device__ __forceinline__ bool gt_wait_goes_on(
	const struct gt_kernel_guard *guard, struct gt_wait *wait,
	uint32_t peer, uint32_t step)
{
	if (++wait->spins % GT_SPINS)
		return true;
	wait->begin_ns = gt_wait_looks(guard, wait->begin_ns, peer, step);
	return wait->begin_ns != 0;
}

/* Waits in all lanes of a warp together. */
static __device__ __forceinline__ bool gt_warp_goes_on(
	const struct gt_kernel_guard *guard, struct gt_wait *wait,
	uint32_t peer, uint32_t step)
{
	if (++wait->spins % GT_SPINS)
		return true;
	if (threadIdx.x % 32 == 0)
		wait->begin_ns =
			gt_wait_looks(guard, wait->begin_ns, peer, step);
	wait->begin_ns = __shfl_sync(~0u, wait->begin_ns, 0);
	return wait->begin_ns != 0;
}

static __device__ __forceinline__ void gt_wait_ends(
	const struct gt_kernel_guard *guard, const struct gt_wait *wait)
{
	if (wait->begin_ns)
		guard->reports[blockIdx.x].state = GT_KERNEL_SILENT;
}

/* Notes for a trace what a block's stage has come to. */
static __device__ __forceinline__ void gt_guard_mark(
	const struct gt_kernel_guard *guard, uint32_t stage, uint32_t rank,
	uint32_t what)
{
	uint32_t at = (blockIdx.x * GT_P2P_STAGES + stage) * GT_P2P_RANKS;

	if (guard->marks)
		guard->marks[at + rank].at_ns[what] = gt_now_ns();
}

static __device__ __forceinline__ void gt_guard_mark_own(
	const struct gt_kernel_guard *guard, const struct gt_p2p *flow,
	uint32_t stage, uint32_t what)
{
	if (!threadIdx.x)
		gt_guard_mark(guard, stage, flow->me, what);
}

/* Returns false if this rank has to stop here, which a test asked for. */
static __device__ __forceinline__ bool gt_guard_passes(
	const struct gt_kernel_guard *guard)
{
	if (!guard->fault)
		return true;
	while (guard->fault == GT_KERNEL_FAULT_STALL &&
	       !gt_watch_aborted(guard->watch))
		__nanosleep(10000);
	return false;
}

#endif
