/*
 * Kernels for traces: a GPU's clock beside the host's, and when packets came.
 */
#include "kernels/p2p/ll_line.cuh"
#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/wait.cuh"

static __global__ void gt_clock_kernel(struct gt_kernel_clock *clock,
				       uint32_t rounds, uint64_t limit_ns)
{
	volatile struct gt_kernel_clock *at = clock;
	uint64_t begin = gt_now_ns();

	for (uint32_t round = 1; round <= rounds; round++) {
		while (at->asked < round)
			if (gt_now_ns() - begin > limit_ns)
				return;
		at->told_ns = gt_now_ns();
	}
}

extern "C" int gt_kernel_clock_run(struct gt_kernel_clock *clock,
				   uint32_t rounds, uint64_t limit_ns,
				   struct CUstream_st *stream)
{
	gt_clock_kernel<<<1, 1, 0, stream>>>(clock, rounds, limit_ns);
	return (int)cudaGetLastError();
}

/*
 * Returns as bits the ranks whose first chunk of a part has come; all lanes of
 * a warp call it.
 */
template <class P>
static __device__ uint32_t gt_watch_look(const struct gt_ll_context *at,
					 uint32_t part)
{
	uint32_t here = 0;

	for (uint32_t r = 0; r < at->part->flow.nranks; r++) {
		const char *from = gt_ll_buffer(at, at->part->flow.me, r, part);
		struct gt_slot_pair s = {gt_slot_load(from),
					 gt_slot_load(from + GT_SLOT_B)};

		here |= (uint32_t)__all_sync(~0u,
					     P::here(s, at->lane, at->flag))
			<< r;
	}
	return here;
}

/*
 * Runs beside a flow's packets and must not hold them up: it waits for nothing
 * but first chunks, and these do not wait for it.
 */
template <class P>
static __global__ void gt_watch_kernel(
	const __grid_constant__ struct gt_packet_args args, uint32_t flag)
{
	const struct gt_p2p *flow = &args.part.flow;
	const struct gt_ll_context at = {.guard = &args.guard,
					 .part = &args.part,
					 .ll_buffer = args.ll_buffer,
					 .lane = threadIdx.x,
					 .flag = flag};
	uint32_t parts = flow->flags & GT_P2P_SPREAD ? 2 : 1;
	uint32_t others = ((1u << flow->nranks) - 1) & ~(1u << flow->me);
	struct gt_wait wait = {};

	for (uint32_t part = 0; part < parts; part++)
		for (uint32_t missing = others, here; missing;
		     missing &= ~here) {
			here = gt_watch_look<P>(&at, part) & missing;
			if (here >> at.lane & 1)
				gt_guard_mark(&args.guard, part, at.lane,
					      GT_MARK_READY);
			if (!gt_warp_goes_on(&args.guard, &wait,
					     __ffs((int)missing) - 1, part))
				return;
		}
	gt_wait_ends(&args.guard, &wait);
}

extern "C" int gt_packet_watch(int ll128, const struct gt_packet_args *args,
			       uint64_t number, struct CUstream_st *stream)
{
	if (ll128)
		gt_watch_kernel<gt_ll128>
			<<<1, 32, 0, stream>>>(*args, (uint32_t)number);
	else
		gt_watch_kernel<gt_ll>
			<<<1, 32, 0, stream>>>(*args, (uint32_t)number);
	return (int)cudaGetLastError();
}
