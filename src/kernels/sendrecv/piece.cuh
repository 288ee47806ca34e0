/*
 * Pieces and letters of one message, as kernels/exchange.h tells: what may go,
 * and what a block does with it.
 */
#ifndef GT_KERNELS_SENDRECV_PIECE_CUH
#define GT_KERNELS_SENDRECV_PIECE_CUH

#include "kernels/sendrecv/letter.cuh"

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
				  peer * gt_desk_pitch(args->kind));
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

/* One thread; behind a fence, if what came before is meant. */
static __device__ __forceinline__ void gt_note_post(struct gt_desk_note *note,
						    uint64_t number,
						    uint64_t what)
{
	uint32_t flag = (uint32_t)number + 1;

	gt_slot_store((char *)note, make_uint4((uint32_t)what, flag,
					       (uint32_t)(what >> 32), flag));
}

/* Is it there, and what does it tell?  One load, so there is no fence in it. */
static __device__ __forceinline__ bool gt_note_take(
	const struct gt_desk_note *note, uint64_t number, uint64_t *what)
{
	uint4 line = gt_slot_load((const char *)note);

	if (!gt_line_is_here(line, (uint32_t)number + 1))
		return false;
	*what = (uint64_t)line.z << 32 | line.x;
	return true;
}

/* What was meant is there, too: is it of the message that is awaited? */
static __device__ __forceinline__ bool gt_note_tells(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	const struct gt_desk_note *note, uint64_t number)
{
	uint64_t what;

	if (!gt_note_take(note, number, &what))
		return false;
	gt_flag_fence();
	if (what != gt_desk_what(m))
		gt_desk_mistaken(&args->guard, m, what);
	return true;
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
	return gt_letter_begins(desk->letters[slot], args->kind,
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
	return gt_note_tells(args, m, &desk->full[slot], number);
}

/*
 * The receiver tells the address once, when the parcel of this slot before it
 * has come; *where is the address, once it was told.
 */
static __device__ __forceinline__ bool gt_parcel_can(
	const struct gt_exchange_args *args, const struct gt_kernel_message *m,
	uint64_t number, uint64_t *where)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint32_t slot = number % GT_DESK_PARCELS;

	if (m->sends)
		return *where ||
		       gt_note_take(&at.mine->room[slot], number, where);
	if (!*where && (number < GT_DESK_PARCELS ||
			gt_flag_read(&at.mine->done[slot]) >=
				number - GT_DESK_PARCELS + 1)) {
		*where = (uint64_t)m->buffer;
		gt_note_post(&at.theirs->room[slot], number, *where);
	}
	return gt_note_tells(args, m, &at.mine->sent[slot], number);
}

static __device__ __forceinline__ uint32_t
gt_piece_bytes(const struct gt_exchange_args *args,
	       const struct gt_kernel_message *m, uint64_t offset)
{
	uint32_t piece = gt_desk_piece(m->bytes, args->kind);

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
				   gt_piece_bytes(args, m, offset),
				   (uint32_t)number + 1};

	bool whole = args->kind & GT_DESK_WHOLE, ok;

	if (m->sends) {
		if (whole)
			gt_letter_out<gt_whole_line>(at.theirs->letters[slot],
						     m, letter);
		else
			gt_letter_out<gt_line>(at.theirs->letters[slot], m,
					       letter);
		return true;
	}
	ok = whole ? gt_letter_in<gt_whole_line>(
			     &args->guard, at.mine->letters[slot], m, letter)
		   : gt_letter_in<gt_line>(&args->guard, at.mine->letters[slot],
					   m, letter);
	if (!__syncthreads_and(ok))
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
			     gt_piece_bytes(args, m, offset));
		__syncthreads();
		if (gt_is_poster()) {
			gt_flag_fence();
			gt_note_post(&at.theirs->full[slot], number,
				     gt_desk_what(m));
		}
	} else {
		gt_piece_in(m->buffer + offset, at.mine->slots[slot],
			    gt_piece_bytes(args, m, offset));
		__syncthreads();
		if (gt_is_poster())
			gt_piece_post(&at.theirs->taken[slot], number);
	}
}

/* The poster, behind a barrier: the block has sent its share. */
static __device__ void gt_parcel_ends(const struct gt_exchange_args *args,
				      const struct gt_kernel_message *m,
				      struct gt_desks at, uint64_t number)
{
	uint32_t slot = number % GT_DESK_PARCELS;

	gt_flag_fence();
	if (atomicAdd(&at.mine->parts[slot], 1) !=
	    gt_desk_blocks(m, args->kind, args->quota) - 1)
		return;
	at.mine->parts[slot] = 0;
	/* The others' parts, too. */
	gt_flag_fence();
	gt_note_post(&at.theirs->sent[slot], number, gt_desk_what(m));
}

/* What a block has of a message, from the next on. */
struct gt_pieces {
	uint32_t next, end;
};

/* Some of the block's. */
static __device__ void gt_parcel_do(const struct gt_exchange_args *args,
				    const struct gt_kernel_message *m,
				    struct gt_pieces pieces, uint64_t number,
				    uint64_t where)
{
	struct gt_desks at = gt_desks_of(args, m->peer);
	uint64_t piece = gt_desk_piece(m->bytes, args->kind), offset, end;
	bool ends = pieces.end - pieces.next <= GT_PARCEL_RUN;

	if (!m->sends) {
		if (gt_is_poster())
			gt_flag_post(&at.mine->done[number % GT_DESK_PARCELS],
				     number + 1);
		return;
	}
	offset = pieces.next * piece;
	end = ends ? pieces.end * piece : offset + GT_PARCEL_RUN * piece;
	if (end > m->bytes)
		end = m->bytes;
	gt_piece_out((char *)where + offset, m->buffer + offset,
		     (uint32_t)(end - offset));
	if (!ends)
		return;
	__syncthreads();
	if (gt_is_poster())
		gt_parcel_ends(args, m, at, number);
}

#endif
