/*
 * Pieces and letters of one message, as kernels/exchange.h tells: what may go,
 * and what a block does with it.
 */
#ifndef GT_KERNELS_PIECE_CUH
#define GT_KERNELS_PIECE_CUH

#include "kernels/desk.cuh"

/* Pieces of a parcel, before others have their turn. */
enum : uint32_t { GT_PARCEL_RUN = 8 };

/* One thread: what it knows to be done, by a barrier too, comes before. */
static __device__ __forceinline__ void gt_piece_post(uint64_t *flag,
						     uint64_t number)
{
	gt_flag_fence();
	gt_flag_post(flag, number + 1);
}

static __device__ __forceinline__ struct gt_desk *gt_desk_of(
	const struct gt_exchange_args *args, uint32_t owner, uint32_t peer)
{
	return (struct gt_desk *)(args->desks[owner] +
				  peer * gt_desk_pitch((int)args->direct));
}

/* This rank's desk for the peer, and the peer's for this rank. */
struct gt_desks {
	struct gt_desk *mine, *theirs;
};

static __device__ __forceinline__ struct gt_desks gt_desks_of(
	const struct gt_exchange_args *args, uint32_t peer)
{
	return {gt_desk_of(args, args->me, peer),
		gt_desk_of(args, peer, args->me)};
}

/* A flag's number is there: is it of the message that is awaited? */
static __device__ __forceinline__ void gt_desk_compare(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	const struct gt_desk_flag *flag)
{
	uint64_t what = *(const volatile uint64_t *)&flag->what;

	if (what != gt_desk_what(m))
		gt_desk_mistaken(&args->guard, m, what);
}

static __device__ __forceinline__ bool gt_letter_can(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	uint64_t number)
{
	const struct gt_desk *desk = gt_desk_of(args, args->me, m->peer);
	uint32_t slot = number % GT_DESK_LETTERS;

	if (m->sends)
		return number < GT_DESK_LETTERS ||
		       gt_flag_read(&desk->read[slot]) >=
			       number - GT_DESK_LETTERS + 1;
	return gt_line_is_here(gt_slot_load(desk->letters[slot]),
			       (uint32_t)number + 1);
}

static __device__ __forceinline__ bool gt_piece_can(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	uint64_t number)
{
	const struct gt_desk *desk = gt_desk_of(args, args->me, m->peer);
	uint32_t slot = number % GT_DESK_SLOTS;

	if (m->sends)
		return number < GT_DESK_SLOTS ||
		       gt_flag_read(&desk->taken[slot]) >=
			       number - GT_DESK_SLOTS + 1;
	if (gt_flag_read(&desk->full[slot].number) != number + 1)
		return false;
	gt_desk_compare(args, m, &desk->full[slot]);
	return true;
}

/*
 * The receiver tells the address once, when the parcel of this slot before it
 * has come.
 */
static __device__ __forceinline__ bool gt_parcel_can(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	uint64_t number, uint8_t *told)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint32_t slot = number % GT_DESK_PARCELS;

	if (m->sends)
		return gt_flag_read(&at.mine->room[slot].number) == number + 1;
	if (!*told && (number < GT_DESK_PARCELS ||
		       gt_flag_read(&at.mine->done[slot]) >=
			       number - GT_DESK_PARCELS + 1)) {
		*(volatile uint64_t *)&at.theirs->room[slot].what =
			(uint64_t)m->buffer;
		gt_piece_post(&at.theirs->room[slot].number, number);
		*told = 1;
	}
	if (gt_flag_read(&at.mine->sent[slot].number) != number + 1)
		return false;
	gt_desk_compare(args, m, &at.mine->sent[slot]);
	return true;
}

static __device__ __forceinline__ uint32_t
gt_piece_bytes(const struct gt_kernel_message *m, uint64_t offset)
{
	uint32_t piece = gt_desk_piece(m->bytes);

	return m->bytes - offset < piece ? (uint32_t)(m->bytes - offset)
					 : piece;
}

static __device__ bool gt_letter_do(const struct gt_exchange_args *args,
				    const struct gt_kernel_message *m,
				    uint64_t offset, uint64_t number)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint32_t slot = number % GT_DESK_LETTERS;
	struct gt_letter letter = {m->buffer + offset,
				   gt_piece_bytes(m, offset),
				   (uint32_t)number + 1};

	if (m->sends) {
		gt_letter_out(at.theirs->letters[slot], m, letter);
		return true;
	}
	if (!__syncthreads_and(gt_letter_in(&args->guard,
					    at.mine->letters[slot], m, letter)))
		return false;
	if (gt_is_poster())
		gt_piece_post(&at.theirs->read[slot], number);
	return true;
}

static __device__ void gt_piece_do(const struct gt_exchange_args *args,
				   const struct gt_kernel_message *m,
				   uint64_t offset, uint64_t number)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint32_t slot = number % GT_DESK_SLOTS;

	if (m->sends) {
		gt_piece_out(at.theirs->slots[slot], m->buffer + offset,
			     gt_piece_bytes(m, offset));
		if (gt_is_poster())
			at.theirs->full[slot].what = gt_desk_what(m);
		__syncthreads();
		if (gt_is_poster())
			gt_piece_post(&at.theirs->full[slot].number, number);
	} else {
		gt_piece_in(m->buffer + offset, at.mine->slots[slot],
			    gt_piece_bytes(m, offset));
		__syncthreads();
		if (gt_is_poster())
			gt_piece_post(&at.theirs->taken[slot], number);
	}
}

/* The poster, behind a barrier: the block has sent its share. */
static __device__ void gt_parcel_ends(const struct gt_kernel_message *m,
				      struct gt_desks at, uint64_t number)
{
	uint32_t slot = number % GT_DESK_PARCELS;
	uint64_t pieces = gt_desk_pieces(m->bytes);
	uint32_t blocks = pieces < gridDim.x ? (uint32_t)pieces : gridDim.x;

	gt_flag_fence();
	if (atomicAdd(&at.mine->parts[slot], 1) != blocks - 1)
		return;
	at.mine->parts[slot] = 0;
	at.theirs->sent[slot].what = gt_desk_what(m);
	gt_piece_post(&at.theirs->sent[slot].number, number);
}

/* Some of the block's pieces, each gridDim.x behind the one before. */
static __device__ void gt_parcel_do(const struct gt_exchange_args *args,
				    const struct gt_kernel_message *m,
				    uint32_t piece, uint64_t number)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint32_t slot = number % GT_DESK_PARCELS;
	uint64_t pieces = gt_desk_pieces(m->bytes), offset;
	char *to;

	if (!m->sends) {
		if (gt_is_poster())
			gt_piece_post(&at.mine->done[slot], number);
		return;
	}
	to = *(char *volatile *)&at.mine->room[slot].what;
	for (uint32_t i = 0; i < GT_PARCEL_RUN && piece < pieces; i++) {
		offset = (uint64_t)piece * gt_desk_piece(m->bytes);
		gt_piece_out(to + offset, m->buffer + offset,
			     gt_piece_bytes(m, offset));
		piece += gridDim.x;
	}
	if (piece < pieces)
		return;
	__syncthreads();
	if (gt_is_poster())
		gt_parcel_ends(m, at, number);
}

#endif
