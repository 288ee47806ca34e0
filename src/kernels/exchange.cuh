/*
 * One rank's messages that start together, as kernels/exchange.h tells.
 *
 * Each block has pieces of every message.  It does what can be done now and
 * never waits for one piece while another could go: so it does not matter in
 * which order ranks call, or how many blocks another rank has.
 */
#ifndef GT_KERNELS_EXCHANGE_CUH
#define GT_KERNELS_EXCHANGE_CUH

#include "kernels/desk.cuh"

enum : uint32_t { GT_PIECE_NONE = ~0u };

template <uint32_t N> struct gt_exchange_table {
	struct gt_exchange_args args;
	struct gt_kernel_message messages[N];
};

/* In shared memory: the block's next piece of each message. */
template <uint32_t N> struct gt_exchange_state {
	uint64_t start[N]; /* the message's first piece, by the pair's count */
	uint32_t next[N];
	uint8_t ready[N];
	uint32_t mine; /* messages that the block has pieces of */
};

static __device__ __forceinline__ bool gt_piece_is_ready(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	uint64_t number)
{
	const struct gt_desk *desk = &args->desks[args->me][m->peer];
	int letter = gt_desk_is_letter(m->bytes);
	uint32_t slots = letter ? GT_DESK_LETTERS : GT_DESK_SLOTS;
	uint32_t slot = number % slots;
	uint64_t what;

	if (m->sends)
		return number < slots ||
		       gt_flag_read(letter ? &desk->read[slot]
					   : &desk->taken[slot]) >=
			       number - slots + 1;
	if (letter)
		return gt_line_is_here(gt_line_load(desk->letters[slot]),
				       (uint32_t)number + 1);
	if (gt_flag_read(&desk->full[slot].number) != number + 1)
		return false;
	what = *(const volatile uint64_t *)&desk->full[slot].what;
	if (what != gt_desk_what(m))
		gt_desk_mistaken(&args->guard, m, what);
	return true;
}

/* Behind a barrier: the other side may go on. */
static __device__ __forceinline__ void gt_piece_post(uint64_t *flag,
						     uint64_t number)
{
	if (!gt_is_poster())
		return;
	gt_flag_fence();
	gt_flag_post(flag, number + 1);
}

static __device__ bool gt_letter_do(const struct gt_exchange_args *args,
				    const struct gt_kernel_message *m,
				    uint64_t number)
{
	struct gt_desk *theirs = &args->desks[m->peer][args->me];
	struct gt_desk *mine = &args->desks[args->me][m->peer];
	uint32_t slot = number % GT_DESK_LETTERS, flag = (uint32_t)number + 1;

	if (m->sends) {
		gt_letter_out(theirs->letters[slot], m, flag);
		return true;
	}
	if (!__syncthreads_and(
		    gt_letter_in(&args->guard, mine->letters[slot], m, flag)))
		return false;
	gt_piece_post(&theirs->read[slot], number);
	return true;
}

static __device__ void gt_piece_do(const struct gt_exchange_args *args,
				   const struct gt_kernel_message *m,
				   uint32_t piece, uint64_t number)
{
	struct gt_desk *theirs = &args->desks[m->peer][args->me];
	struct gt_desk *mine = &args->desks[args->me][m->peer];
	uint32_t size = gt_desk_piece(m->bytes), slot = number % GT_DESK_SLOTS;
	uint64_t offset = (uint64_t)piece * size;

	if (m->bytes - offset < size)
		size = (uint32_t)(m->bytes - offset);
	if (m->sends) {
		gt_piece_out(theirs->slots[slot], m->buffer + offset, size);
		if (gt_is_poster())
			theirs->full[slot].what = gt_desk_what(m);
		__syncthreads();
		gt_piece_post(&theirs->full[slot].number, number);
	} else {
		gt_piece_in(m->buffer + offset, mine->slots[slot], size);
		__syncthreads();
		gt_piece_post(&theirs->taken[slot], number);
	}
}

/* Nothing could be done: look now and then whether to give up. */
template <uint32_t N>
static __device__ bool gt_exchange_waits(const gt_exchange_table<N> *table,
					 const gt_exchange_state<N> *state,
					 struct gt_wait *wait)
{
	uint32_t e = 0;

	if (threadIdx.x || ++wait->spins % GT_SPINS)
		return true;
	while (state->next[e] == GT_PIECE_NONE)
		e++;
	wait->begin_ns = gt_wait_looks(
		&table->args.guard, wait->begin_ns, table->messages[e].peer,
		table->messages[e].sends ? GT_EXCHANGE_SENDS
					 : GT_EXCHANGE_RECEIVES);
	return wait->begin_ns != 0;
}

template <uint32_t N>
static __device__ void gt_exchange_begin(const gt_exchange_table<N> *table,
					 gt_exchange_state<N> *state)
{
	const struct gt_desk_counts *counts = table->args.counts;
	uint32_t have = 0;

	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_EXCHANGE_THREADS) {
		const struct gt_kernel_message *m = &table->messages[e];
		uint32_t piece =
			(blockIdx.x + gridDim.x - e % gridDim.x) % gridDim.x;

		if (piece >= gt_desk_pieces(m->bytes))
			piece = GT_PIECE_NONE;
		state->next[e] = piece;
		state->start[e] =
			*(const volatile uint64_t *)&counts
				 ->count[m->sends][gt_desk_is_letter(m->bytes)]
					[m->peer] +
			m->first;
		have += piece != GT_PIECE_NONE;
	}
	if (!threadIdx.x)
		state->mine = 0;
	__syncthreads();
	if (have)
		atomicAdd(&state->mine, have);
	__syncthreads();
}

/* Do all that is ready. */
template <uint32_t N>
static __device__ bool gt_exchange_round(const gt_exchange_table<N> *table,
					 const gt_exchange_state<N> *state)
{
	bool ok = true;

	for (uint32_t e = 0; ok && e < table->args.n; e++) {
		const struct gt_kernel_message *m = &table->messages[e];

		if (!state->ready[e])
			continue;
		if (gt_desk_is_letter(m->bytes))
			ok = gt_letter_do(&table->args, m, state->start[e]);
		else
			gt_piece_do(&table->args, m, state->next[e],
				    state->start[e] + state->next[e]);
	}
	return ok;
}

/* Does the block have a piece, and one that can be done? */
template <uint32_t N>
static __device__ bool gt_exchange_looks(const gt_exchange_table<N> *table,
					 gt_exchange_state<N> *state)
{
	bool any = false;

	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_EXCHANGE_THREADS) {
		const struct gt_kernel_message *m = &table->messages[e];
		bool ready = state->next[e] != GT_PIECE_NONE;

		/* With nothing else to do it may wait for a letter's lines. */
		if (ready && !(state->mine == 1 && !m->sends &&
			       gt_desk_is_letter(m->bytes)))
			ready = gt_piece_is_ready(&table->args, m,
						  state->start[e] +
							  state->next[e]);
		state->ready[e] = ready;
		any |= ready;
	}
	return __syncthreads_or(any);
}

/* Behind a round; is there more? */
template <uint32_t N>
static __device__ bool gt_exchange_steps(const gt_exchange_table<N> *table,
					 gt_exchange_state<N> *state)
{
	bool left = false;

	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_EXCHANGE_THREADS) {
		uint64_t pieces = gt_desk_pieces(table->messages[e].bytes);

		if (state->ready[e]) {
			state->next[e] += gridDim.x;
			if (state->next[e] >= pieces)
				state->next[e] = GT_PIECE_NONE;
		}
		left |= state->next[e] != GT_PIECE_NONE;
	}
	return __syncthreads_or(left);
}

/* The last block counts on, behind which every block has read. */
template <uint32_t N>
static __device__ void gt_exchange_end(const gt_exchange_table<N> *table)
{
	struct gt_desk_counts *counts = table->args.counts;
	__shared__ uint32_t last;

	if (!threadIdx.x)
		last = atomicAdd(&counts->tickets, 1) == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	for (uint32_t e = threadIdx.x; e < table->args.n;
	     e += GT_EXCHANGE_THREADS) {
		const struct gt_kernel_message *m = &table->messages[e];

		atomicAdd((unsigned long long *)&counts
				  ->count[m->sends][gt_desk_is_letter(m->bytes)]
					 [m->peer],
			  gt_desk_pieces(m->bytes));
	}
	if (!threadIdx.x)
		counts->tickets = 0;
}

template <uint32_t N>
__global__ void __launch_bounds__(GT_EXCHANGE_THREADS, 1)
	gt_exchange(const __grid_constant__ gt_exchange_table<N> table)
{
	__shared__ gt_exchange_state<N> state;
	struct gt_wait wait = {};
	bool more, ok = true;

	gt_launch_begins();
	if (!gt_guard_passes(&table.args.guard))
		return;
	gt_exchange_begin(&table, &state);
	for (more = state.mine; more;
	     more = gt_exchange_steps(&table, &state)) {
		if (gt_exchange_looks(&table, &state)) {
			ok = gt_exchange_round(&table, &state);
			if (!threadIdx.x)
				gt_wait_ends(&table.args.guard, &wait);
			wait = {};
		} else {
			ok = gt_exchange_waits(&table, &state, &wait);
		}
		if (!__syncthreads_and(ok))
			return;
	}
	gt_exchange_end(&table);
}

#endif
