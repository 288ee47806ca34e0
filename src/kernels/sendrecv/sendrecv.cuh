/*
 * One rank's messages that start together, as kernels/sendrecv.h tells.
 *
 * Each block has pieces that follow each other, of one message or several.  It
 * does what can be done now and never waits for one piece while another could
 * go: so it does not matter in which order ranks call, or how many blocks
 * another rank has.
 */
#ifndef GT_KERNELS_SENDRECV_SENDRECV_CUH
#define GT_KERNELS_SENDRECV_SENDRECV_CUH

#include "kernels/sendrecv/pieces.cuh"

template <uint32_t N> struct gt_sendrecv_table {
	struct gt_sendrecv_args args;
	struct gt_kernel_message messages[N];
};

/*
 * The state in shared memory: the block's pieces of each message, from the next
 * one on.
 */
template <uint32_t N> struct gt_sendrecv_state {
	uint64_t start[N]; /* the message's first number */
	uint64_t where[N]; /* of parcels: the receiver's address, once told */
	uint32_t next[N], end[N];
	uint8_t ready[N];
	uint32_t mine; /* messages that the block has pieces of, still */
};

/* Looks now and then whether to abort, while nothing can be done. */
template <uint32_t N>
static __device__ bool gt_sendrecv_waits(const gt_sendrecv_table<N> *table,
					 const gt_sendrecv_state<N> *state,
					 struct gt_wait *wait)
{
	uint32_t e = 0;

	if (threadIdx.x || ++wait->spins % GT_SPINS)
		return true;
	while (state->next[e] == state->end[e])
		e++;
	wait->begin_ns = gt_wait_looks(
		&table->args.guard, wait->begin_ns, table->messages[e].peer,
		table->messages[e].sends ? GT_SENDRECV_SENDS
					 : GT_SENDRECV_RECEIVES);
	return wait->begin_ns != 0;
}

template <uint32_t N>
static __device__ __forceinline__ enum gt_msg_protocol gt_sendrecv_way(
	const gt_sendrecv_table<N> *table, uint32_t e)
{
	return gt_msg_protocol_of(table->messages[e].bytes, table->args.kind);
}

/* One thread computes the block's pieces of a message. */
template <uint32_t N>
static __device__ __forceinline__ struct gt_pieces gt_sendrecv_pieces(
	const gt_sendrecv_table<N> *table, uint32_t e)
{
	const struct gt_kernel_message *m = &table->messages[e];
	uint32_t kind = table->args.kind, quota = table->args.quota;
	uint32_t first, end;

	if (gt_sendrecv_way(table, e) != GT_MSG_PIPELINED)
		return {gt_msg_first_piece(m, kind, quota, blockIdx.x),
			gt_msg_first_piece(m, kind, quota, blockIdx.x + 1)};
	first = (blockIdx.x + gridDim.x - m->at % gridDim.x) % gridDim.x;
	end = gt_msg_shares(m, kind);
	return {first < end ? first : end, end};
}

/* Thread 0 takes the block's ticket. */
template <uint32_t N>
static __device__ uint32_t gt_sendrecv_begin(const gt_sendrecv_table<N> *table,
					     gt_sendrecv_state<N> *state)
{
	struct gt_pair_counters *counts = table->args.counts;
	uint32_t have = 0, ticket = 0;

	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_SENDRECV_THREADS) {
		const struct gt_kernel_message *m = &table->messages[e];
		struct gt_pieces pieces = gt_sendrecv_pieces(table, e);

		state->next[e] = pieces.next;
		state->end[e] = pieces.end;
		state->ready[e] = 0;
		state->where[e] = 0;
		state->start[e] =
			*(const volatile uint64_t *)&counts
				 ->count[m->sends][gt_sendrecv_way(table, e)]
					[m->peer] +
			m->first;
		have += state->next[e] < state->end[e];
	}
	if (!threadIdx.x)
		state->mine = 0;
	__syncthreads();
	if (have)
		atomicAdd(&state->mine, have);
	__syncthreads();
	/*
	 * The sum is stored without a barrier, since nobody needs it before the
	 * end.
	 */
	if (!threadIdx.x)
		ticket = atomicAdd(&counts->tickets, 1);
	return ticket;
}

template <uint32_t N>
static __device__ bool gt_sendrecv_do(const gt_sendrecv_table<N> *table,
				      const gt_sendrecv_state<N> *state,
				      uint32_t e)
{
	const struct gt_kernel_message *m = &table->messages[e];
	uint32_t piece = state->next[e];
	uint64_t offset = (uint64_t)piece *
			  gt_msg_piece_bytes(m->bytes, table->args.kind);

	switch (gt_sendrecv_way(table, e)) {
	case GT_MSG_LL:
		return gt_ll_msg_move(&table->args, m, offset,
				      state->start[e] + piece);
	case GT_MSG_RENDEZVOUS:
		gt_rendezvous_move(&table->args, m, {piece, state->end[e]},
				   state->start[e], state->where[e]);
		return true;
	default:
		gt_piece_move(&table->args, m, offset, state->start[e] + piece);
		return true;
	}
}

/* Does all that is ready; blocks begin with different peers. */
template <uint32_t N>
static __device__ bool gt_sendrecv_round(const gt_sendrecv_table<N> *table,
					 const gt_sendrecv_state<N> *state)
{
	uint32_t n = table->args.n, e = blockIdx.x % n;
	bool ok = true;

	for (uint32_t i = 0; ok && i < n; i++, e = e + 1 < n ? e + 1 : 0)
		if (state->ready[e])
			ok = gt_sendrecv_do(table, state, e);
	return ok;
}

/*
 * One thread returns whether the block's next piece of the message can be done.
 */
template <uint32_t N>
static __device__ __forceinline__ bool gt_sendrecv_can(
	const gt_sendrecv_table<N> *table, gt_sendrecv_state<N> *state,
	uint32_t e)
{
	const struct gt_kernel_message *m = &table->messages[e];
	uint64_t start = state->start[e];

	if (state->next[e] == state->end[e])
		return false;
	switch (gt_sendrecv_way(table, e)) {
	case GT_MSG_LL:
		/*
		 * With nothing else to do, the block may wait for the lines of
		 * an LL slot.
		 */
		return (*(volatile uint32_t *)&state->mine == 1 && !m->sends) ||
		       gt_ll_msg_ready(&table->args, m, start + state->next[e]);
	case GT_MSG_RENDEZVOUS:
		return gt_rendezvous_ready(&table->args, m, start,
					   &state->where[e]);
	default:
		return gt_piece_ready(&table->args, m, start + state->next[e]);
	}
}

/* One thread notes that the block's next piece of the message was done. */
template <uint32_t N>
static __device__ __forceinline__ void gt_sendrecv_steps(
	const gt_sendrecv_table<N> *table, gt_sendrecv_state<N> *state,
	uint32_t e)
{
	enum gt_msg_protocol way = gt_sendrecv_way(table, e);
	uint32_t left = state->end[e] - state->next[e];
	uint32_t step = way == GT_MSG_RENDEZVOUS  ? GT_RENDEZVOUS_RUN
			: way == GT_MSG_PIPELINED ? gridDim.x
						  : 1;

	step = left < step ? left : step;
	state->next[e] += step;
	if (step == left)
		atomicAdd(&state->mine, ~0u);
}

/* Returns whether the block has another piece that can be done. */
template <uint32_t N>
static __device__ bool gt_sendrecv_looks(const gt_sendrecv_table<N> *table,
					 gt_sendrecv_state<N> *state)
{
	bool any = false;

	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_SENDRECV_THREADS) {
		if (state->ready[e])
			gt_sendrecv_steps(table, state, e);
		state->ready[e] = gt_sendrecv_can(table, state, e);
		any |= state->ready[e];
	}
	return __syncthreads_or(any);
}

/*
 * The block with the last ticket advances the counters, since every block has
 * read them.
 */
template <uint32_t N>
static __device__ void gt_sendrecv_end(const gt_sendrecv_table<N> *table,
				       uint32_t ticket)
{
	struct gt_pair_counters *counts = table->args.counts;
	__shared__ uint32_t last;

	if (!threadIdx.x)
		last = ticket == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_SENDRECV_THREADS) {
		const struct gt_kernel_message *m = &table->messages[e];

		atomicAdd((unsigned long long *)&counts
				  ->count[m->sends][gt_sendrecv_way(table, e)]
					 [m->peer],
			  gt_msg_numbers(m->bytes, table->args.kind));
	}
	if (!threadIdx.x)
		counts->tickets = 0;
}

template <uint32_t N>
__global__ void __launch_bounds__(GT_SENDRECV_THREADS, 1)
	gt_sendrecv(const __grid_constant__ gt_sendrecv_table<N> table)
{
	__shared__ gt_sendrecv_state<N> state;
	struct gt_wait wait = {};
	bool ok = true;
	uint32_t ticket;

	gt_launch_begins();
	if (!gt_guard_passes(&table.args.guard))
		return;
	ticket = gt_sendrecv_begin(&table, &state);
	for (;;) {
		if (gt_sendrecv_looks(&table, &state)) {
			ok = gt_sendrecv_round(&table, &state);
			if (!threadIdx.x)
				gt_wait_ends(&table.args.guard, &wait);
			wait = {};
		} else if (state.mine) {
			ok = gt_sendrecv_waits(&table, &state, &wait);
		} else {
			break;
		}
		if (!__syncthreads_and(ok))
			return;
	}
	gt_sendrecv_end(&table, ticket);
}

#endif
