/*
 * Waits for the chunks of several ranks, and adds up what they hold in the
 * order of ranks.
 */
#ifndef GT_KERNELS_P2P_GATHER_CUH
#define GT_KERNELS_P2P_GATHER_CUH

#include "kernels/p2p/ll_line.cuh"
#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/wait.cuh"

/*
 * Wait for a chunk from each of up to four ranks, whose numbers begin at s0
 * and of which `want` has bits; the others have `own`, which waits in the
 * slots' registers and takes none of its own.  False: the operation was given
 * up.
 */
template <class P>
static __device__ __forceinline__ bool gt_fragments_receive(
	const struct gt_ll_context *at, uint32_t s0, uint32_t want,
	uint32_t part, uint32_t chunk, struct gt_fragment own,
	struct gt_fragment fragments[GT_POLL_RANKS])
{
	struct gt_slot_pair s[GT_POLL_RANKS];
	struct gt_wait wait = {};
	uint32_t missing;

#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
		s[i] = P::wrap(own, at->lane, at->flag);
	do {
		missing = 0;
#pragma unroll
		for (uint32_t i = 0; i < GT_POLL_RANKS; i++) {
			const char *from = gt_ll_buffer(at, at->part->flow.me,
							s0 + i, part) +
					   (uint64_t)chunk * GT_CHUNK_BYTES;

			if (want >> i & 1)
				s[i] = {gt_slot_load(from),
					gt_slot_load(from + GT_SLOT_B)};
		}
#pragma unroll
		for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
			if (want >> i & 1)
				missing |= (uint32_t)__any_sync(
						   ~0u, !P::here(s[i], at->lane,
								 at->flag))
					   << i;
		if (missing &&
		    !gt_warp_goes_on(at->guard, &wait,
				     s0 + __ffs((int)missing) - 1, part))
			return false;
	} while (missing);
	gt_wait_ends(at->guard, &wait);
#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
		fragments[i] = P::unwrap(s[i], at->lane);
	return true;
}

/* Returns as bits which of the four ranks from s0 on are not this one. */
static __device__ __forceinline__ uint32_t gt_others(const struct gt_p2p *flow,
						     uint32_t s0)
{
	uint32_t all = ((1u << flow->nranks) - 1) & ~(1u << flow->me);

	return all >> s0 & ((1u << GT_POLL_RANKS) - 1);
}

/*
 * Returns this rank's part of a chunk of what it adds up, if it is one of the
 * four ranks from s0 on.
 */
template <class T, class P>
static __device__ __forceinline__ struct gt_fragment gt_fragment_own(
	const struct gt_ll_context *at, uint32_t s0, uint32_t chunk,
	uint32_t count)
{
	const struct gt_p2p *flow = &at->part->flow;

	if (!(flow->adds >> flow->me & 1) || flow->me - s0 >= GT_POLL_RANKS)
		return {};
	return gt_fragment_load<T, P>((const char *)at->part->input +
					      gt_p2p_block(flow, flow->me) *
						      flow->in_stride *
						      sizeof(T),
				      chunk, count, at->lane);
}

/*
 * Returns a chunk of all that the flow adds up, reduced in the order of ranks.
 * What is of one rank alone is passed on bit by bit, NaNs too.
 */
template <class T, class R, class P>
static __device__ __forceinline__ bool gt_fragment_gather(
	const struct gt_ll_context *at, uint32_t chunk, uint32_t count,
	struct gt_fragment *sum)
{
	const struct gt_p2p *flow = &at->part->flow;
	bool alone =
		gt_pack_total<T, R>::WIDER && !(flow->adds & (flow->adds - 1));
	gt_fragment_total<T, R> total;

	gt_fragment_clear(&total);
#pragma unroll 1
	for (uint32_t s0 = 0; s0 < flow->nranks; s0 += GT_POLL_RANKS) {
		struct gt_fragment fragments[GT_POLL_RANKS];

		if (!gt_fragments_receive<P>(
			    at, s0, gt_others(flow, s0) & flow->adds >> s0, 0,
			    chunk, gt_fragment_own<T, P>(at, s0, chunk, count),
			    fragments))
			return false;
#pragma unroll
		for (uint32_t i = 0; i < GT_POLL_RANKS; i++) {
			if (!(flow->adds >> (s0 + i) & 1))
				continue;
			if (alone)
				*sum = fragments[i];
			else
				gt_fragment_add<T, R>(
					at, &total, fragments[i],
					!(flow->adds & ((1u << (s0 + i)) - 1)));
		}
	}
	if (!alone)
		*sum = gt_fragment_end<T, R>(at, &total);
	return true;
}

#endif
