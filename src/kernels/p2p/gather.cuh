/*
 * Waits for the chunks of several ranks, and adds up what they hold in the
 * order of ranks.
 */
#ifndef GT_KERNELS_P2P_GATHER_CUH
#define GT_KERNELS_P2P_GATHER_CUH

#include "kernels/p2p/fragment_sum.cuh"
#include "kernels/p2p/ll_line.cuh"
#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/wait.cuh"

/*
 * Wait for a chunk from each of up to four ranks, whose numbers begin at s0
 * and of which `want` has bits.  False: the operation was given up.
 */
template <class P>
static __device__ __forceinline__ bool gt_fragments_receive(
	const struct gt_ll_context *at, uint32_t s0, uint32_t want,
	uint32_t part, uint32_t chunk,
	struct gt_fragment fragments[GT_POLL_RANKS])
{
	struct gt_slot_pair s[GT_POLL_RANKS];
	struct gt_wait wait = {};
	uint32_t missing;

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

/* Returns this rank's part of a chunk of what it adds up, if it has one. */
template <class T, class P>
static __device__ __forceinline__ struct gt_fragment gt_fragment_own(
	const struct gt_ll_context *at, uint32_t chunk, uint32_t count)
{
	const struct gt_p2p *flow = &at->part->flow;

	if (!(flow->adds >> flow->me & 1))
		return {};
	return gt_fragment_load<T, P>((const char *)at->part->input +
					      gt_p2p_block(flow, flow->me) *
						      flow->in_stride *
						      sizeof(T),
				      chunk, count, at->lane);
}

/*
 * What adds up a chunk: packs, totals, or either, as the flow needs, which
 * takes more registers.
 */
enum gt_gather { GT_GATHER_PACKS, GT_GATHER_TOTALS, GT_GATHER_EITHER };

template <class T, class R, enum gt_gather G>
static __device__ __forceinline__ bool gt_needs_totals(
	const struct gt_p2p *flow)
{
	return gt_pack_total<T, R>::WIDER &&
	       (G == GT_GATHER_TOTALS ||
		(G == GT_GATHER_EITHER && gt_p2p_needs_totals(flow)));
}

/*
 * Has `add` take every fragment of a chunk that the flow adds up, in the order
 * of ranks, and told which is the first.
 */
template <class P, class F>
static __device__ __forceinline__ bool gt_fragments_each(
	const struct gt_ll_context *at, uint32_t chunk, struct gt_fragment own,
	F add)
{
	const struct gt_p2p *flow = &at->part->flow;

#pragma unroll 1
	for (uint32_t s0 = 0; s0 < flow->nranks; s0 += GT_POLL_RANKS) {
		struct gt_fragment fragments[GT_POLL_RANKS];

		if (!gt_fragments_receive<P>(
			    at, s0, gt_others(flow, s0) & flow->adds >> s0, 0,
			    chunk, fragments))
			return false;
#pragma unroll
		for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
			if (flow->adds >> (s0 + i) & 1)
				add(s0 + i == flow->me ? own : fragments[i],
				    !(flow->adds & ((1u << (s0 + i)) - 1)));
	}
	return true;
}

/* Returns a chunk of all that the flow adds up, in the order of ranks. */
template <class T, class R, class P, enum gt_gather G>
static __device__ __forceinline__ bool gt_fragment_gather(
	const struct gt_ll_context *at, uint32_t chunk, uint32_t count,
	struct gt_fragment *sum)
{
	const struct gt_p2p *flow = &at->part->flow;
	struct gt_fragment own = gt_fragment_own<T, P>(at, chunk, count);

	if (gt_needs_totals<T, R, G>(flow)) {
		gt_fragment_total<T, R> total;

		gt_fragment_clear(&total);
		if (!gt_fragments_each<P>(
			    at, chunk, own,
			    [&](struct gt_fragment fragment, bool first) {
				    gt_fragment_add<T, R>(at, &total, fragment,
							  first);
			    }))
			return false;
		*sum = gt_fragment_end<T, R>(at, &total);
		return true;
	}
	if (!gt_fragments_each<P>(at, chunk, own,
				  [&](struct gt_fragment fragment, bool first) {
					  gt_fragment_combine<T, R>(
						  at, sum, fragment, first);
				  }))
		return false;
	if (!gt_pack_total<T, R>::WIDER && flow->divide)
		gt_fragment_divide<T, R>(at, sum);
	return true;
}

#endif
