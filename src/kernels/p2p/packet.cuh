/*
 * Flows as packets: data and flag travel in one store, so that whoever sees the
 * flag has the data; there is no fence, no barrier and no second trip.
 *
 * A warp writes chunks (ll_line.cuh) into the receiver's LL buffer. The flag is
 * the number of the operation.
 *
 * LL buffers alternate with the operations. Whoever writes into one has seen a
 * packet of the operation before from its owner, who had by then read all of
 * the one before that: so every rank sends every other one chunk at least.
 */
#ifndef GT_KERNELS_P2P_PACKET_CUH
#define GT_KERNELS_P2P_PACKET_CUH

#include "kernels/p2p/gather.cuh"
#include "kernels/p2p/ll_line.cuh"
#include "kernels/kernels.h"

static __device__ __forceinline__ uint32_t
gt_p2p_sent(const struct gt_p2p *flow, uint32_t d)
{
	return flow->to >> d & 1 ? gt_p2p_count(flow, gt_p2p_block(flow, d))
				 : 0;
}

/*
 * Loads the fragments of a chunk for up to four ranks together, then sends
 * them.
 */
template <class T, class P>
static __device__ __forceinline__ void gt_packets_send_some(
	const struct gt_ll_context *at, uint32_t first, uint32_t c)
{
	const struct gt_p2p *flow = &at->part->flow;
	struct gt_fragment fragments[GT_POLL_RANKS], same;
	uint32_t d[GT_POLL_RANKS];

	if (!flow->in_stride)
		same = gt_fragment_load<T, P>((const char *)at->part->input, c,
					      flow->to ? flow->count : 0,
					      at->lane);
#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++) {
		uint32_t count;

		d[i] = gt_p2p_next(flow, first + i);
		count = gt_p2p_sent(flow, d[i]);
		if (first + i >= flow->nranks || c >= gt_chunks<T, P>(count))
			d[i] = GT_P2P_RANKS;
		else if (!flow->in_stride)
			fragments[i] = same;
		else
			fragments[i] = gt_fragment_load<T, P>(
				(const char *)at->part->input +
					gt_p2p_block(flow, d[i]) *
						flow->in_stride * sizeof(T),
				c, count, at->lane);
	}
#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
		if (d[i] < GT_P2P_RANKS)
			gt_fragment_send<P>(at, d[i], 0, c, fragments[i]);
}

/* Everyone gets a chunk, whether it has something in it or not. */
template <class T, class P>
static __device__ __forceinline__ void gt_packets_send(
	const struct gt_ll_context *at)
{
	const struct gt_p2p *flow = &at->part->flow;
	uint32_t most = gt_chunks<T, P>(flow->count);

	for (uint32_t c = at->warp; c < most; c += at->warps)
		for (uint32_t i = 1; i < flow->nranks; i += GT_POLL_RANKS)
			gt_packets_send_some<T, P>(at, i, c);
}

template <class T, class R, class P, enum gt_gather G>
static __device__ __forceinline__ bool gt_packets_reduce(
	const struct gt_ll_context *at)
{
	const struct gt_p2p *flow = &at->part->flow;
	uint32_t block = gt_p2p_block(flow, flow->me);
	uint32_t count = gt_p2p_count(flow, block);
	char *out =
		(char *)at->part->output + block * flow->out_stride * sizeof(T);

	for (uint32_t c = at->warp; c < gt_chunks<T, P>(count);
	     c += at->warps) {
		struct gt_fragment sum = {};

		if (!gt_fragment_gather<T, R, P, G>(at, c, count, &sum))
			return false;
		for (uint32_t i = 1; flow->back && i < flow->nranks; i++) {
			uint32_t d = gt_p2p_next(flow, i);

			if (flow->back >> d & 1)
				gt_fragment_send<P>(at, d, 1, c, sum);
		}
		if (!flow->back || flow->back >> flow->me & 1)
			gt_fragment_store<T, P>(out, c, count, at->lane, sum);
	}
	return true;
}

/* Puts one chunk of each of four ranks where it belongs. */
template <class T, class P>
static __device__ __forceinline__ bool gt_packets_put(
	const struct gt_ll_context *at, uint32_t s0, uint32_t part, uint32_t c)
{
	const struct gt_p2p *flow = &at->part->flow;
	struct gt_fragment fragments[GT_POLL_RANKS];
	uint32_t count[GT_POLL_RANKS];
	uint32_t want = gt_others(flow, s0);

	if (part)
		want &= flow->via >> s0;

#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++) {
		count[i] = flow->from >> (s0 + i) & 1
				   ? gt_p2p_count(flow,
						  gt_p2p_block(flow,
							       part ? s0 + i
								    : flow->me))
				   : 0;
		if (c >= gt_chunks<T, P>(count[i]))
			want &= ~(1u << i);
	}
	if (!gt_fragments_receive<P>(at, s0, want, part, c, fragments))
		return false;
#pragma unroll
	for (uint32_t i = 0; i < GT_POLL_RANKS; i++)
		if (want >> i & 1)
			gt_fragment_store<T, P>(
				(char *)at->part->output +
					gt_p2p_block(flow, s0 + i) *
						flow->out_stride * sizeof(T),
				c, count[i], at->lane, fragments[i]);
	return true;
}

template <class T, class P>
static __device__ __forceinline__ bool gt_packets_receive(
	const struct gt_ll_context *at, uint32_t part)
{
	const struct gt_p2p *flow = &at->part->flow;
	uint32_t most = gt_chunks<T, P>(flow->count);

	for (uint32_t c = at->warp; c < most; c += at->warps)
		for (uint32_t s0 = 0; s0 < flow->nranks; s0 += GT_POLL_RANKS)
			if (!gt_packets_put<T, P>(at, s0, part, c))
				return false;
	return true;
}

/*
 * Copies the rank's own block of a flow that reduces nothing, unless it is in
 * place.
 */
template <class T, class P>
static __device__ __forceinline__ void gt_packets_own(
	const struct gt_ll_context *at)
{
	const struct gt_p2p *flow = &at->part->flow;
	uint32_t count = flow->end ? flow->end : flow->count;
	uint64_t block = flow->end ? 0 : flow->me;
	const char *in = (const char *)at->part->input +
			 block * flow->in_stride * sizeof(T);
	char *out =
		(char *)at->part->output + block * flow->out_stride * sizeof(T);

	if (in == out || !(flow->to & flow->from & 1u << flow->me))
		return;
	for (uint32_t c = at->warp; c < gt_chunks<T, P>(count); c += at->warps)
		gt_fragment_store<T, P>(
			out, c, count, at->lane,
			gt_fragment_load<T, P>(in, c, count, at->lane));
}

/* Receives what the others sent, and puts or reduces it. */
template <class T, class R, class P, enum gt_gather G>
static __device__ __forceinline__ void gt_packets_answer(
	const struct gt_ll_context *at)
{
	const struct gt_p2p *flow = &at->part->flow;

	if (!flow->adds)
		gt_packets_own<T, P>(at);
	else if (!gt_packets_reduce<T, R, P, G>(at))
		return;
	if (flow->takes != GT_P2P_NOTHING)
		gt_packets_receive<T, P>(at, flow->takes == GT_P2P_SUMS);
}

template <class T, class R, class P>
static __device__ __forceinline__ void gt_packets(
	const struct gt_ll_context *at)
{
	gt_packets_send<T, P>(at);
	gt_packets_answer<T, R, P, GT_GATHER_EITHER>(at);
}

#endif
