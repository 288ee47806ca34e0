/*
 * The three protocols of kernels/sendrecv.h for one message: when its next
 * piece may go, and how a block moves it.
 */
#ifndef GT_KERNELS_SENDRECV_PIECES_CUH
#define GT_KERNELS_SENDRECV_PIECES_CUH

#include "kernels/sendrecv/ll_message.cuh"

/*
 * A block moves so many pieces of a rendezvous before other messages have their
 * turn.
 */
enum : uint32_t { GT_RENDEZVOUS_RUN = 8 };

/*
 * One thread posts a number; all that it knows to be done, through a barrier
 * too, is visible before.
 */
static __device__ __forceinline__ void gt_piece_post(uint64_t *flag,
						     uint64_t number)
{
	gt_flag_fence();
	gt_flag_post(flag, number + 1);
}

static __device__ __forceinline__ struct gt_pair_buffer *gt_pair_buffer_of(
	const struct gt_sendrecv_args *args, uint32_t owner, uint32_t peer)
{
	return (struct gt_pair_buffer *)(args->pair_buffers[owner] +
					 peer * gt_pair_buffer_pitch(
							args->kind));
}

/* This rank's pair buffer for the peer, and the peer's for this rank. */
struct gt_pair_buffers {
	struct gt_pair_buffer *mine, *theirs;
};

static __device__ __forceinline__ struct gt_pair_buffers gt_pair_buffers_of(
	const struct gt_sendrecv_args *args, uint32_t peer)
{
	return {gt_pair_buffer_of(args, args->me, peer),
		gt_pair_buffer_of(args, peer, args->me)};
}

/* One thread posts a flag; a fence goes before if the flag announces data. */
static __device__ __forceinline__ void gt_pair_flag_post(
	struct gt_pair_flag *note, uint64_t number, uint64_t what)
{
	uint32_t flag = (uint32_t)number + 1;

	gt_slot_store((char *)note, make_uint4((uint32_t)what, flag,
					       (uint32_t)(what >> 32), flag));
}

/*
 * Returns whether flag `number` is there, and its value in *what. It is one
 * load, so there is no fence in it.
 */
static __device__ __forceinline__ bool gt_pair_flag_take(
	const struct gt_pair_flag *note, uint64_t number, uint64_t *what)
{
	uint4 line = gt_slot_load((const char *)note);

	if (!gt_ll_line_is_here(line, (uint32_t)number + 1))
		return false;
	*what = (uint64_t)line.z << 32 | line.x;
	return true;
}

/*
 * Returns whether flag `number` is there and with it the data; reports a
 * message that is not the one awaited.
 */
static __device__ __forceinline__ bool gt_pair_flag_tells(
	const struct gt_sendrecv_args *args, const struct gt_kernel_message *m,
	const struct gt_pair_flag *note, uint64_t number)
{
	uint64_t what;

	if (!gt_pair_flag_take(note, number, &what))
		return false;
	gt_flag_fence();
	if (what != gt_msg_signature(m))
		gt_msg_mismatched(&args->guard, m, what);
	return true;
}

static __device__ __forceinline__ bool gt_ll_msg_ready(
	const struct gt_sendrecv_args *args, const struct gt_kernel_message *m,
	uint64_t number)
{
	const struct gt_pair_buffer *pair =
		gt_pair_buffer_of(args, args->me, m->peer);
	uint32_t slot = number % GT_MSG_LL_SLOTS;

	if (m->sends)
		return number < GT_MSG_LL_SLOTS ||
		       gt_flag_read(&pair->read[slot]) >=
			       number - GT_MSG_LL_SLOTS + 1;
	return gt_ll_msg_begins(pair->ll[slot], args->kind,
				(uint32_t)number + 1);
}

static __device__ __forceinline__ bool gt_piece_ready(
	const struct gt_sendrecv_args *args, const struct gt_kernel_message *m,
	uint64_t number)
{
	const struct gt_pair_buffer *pair =
		gt_pair_buffer_of(args, args->me, m->peer);
	uint32_t slot = number % GT_MSG_SLOTS;

	if (m->sends)
		return number < GT_MSG_SLOTS ||
		       gt_flag_read(&pair->taken[slot]) >=
			       number - GT_MSG_SLOTS + 1;
	return gt_pair_flag_tells(args, m, &pair->full[slot], number);
}

/*
 * Returns whether the rendezvous may go on. The receiver tells its address
 * once, when the earlier rendezvous of this slot has come; *where is that
 * address once it was told.
 */
static __device__ __forceinline__ bool gt_rendezvous_ready(
	const struct gt_sendrecv_args *args, const struct gt_kernel_message *m,
	uint64_t number, uint64_t *where)
{
	struct gt_pair_buffers at = gt_pair_buffers_of(args, m->peer);
	uint32_t slot = number % GT_MSG_RENDEZVOUS_SLOTS;

	if (m->sends)
		return *where ||
		       gt_pair_flag_take(&at.mine->room[slot], number, where);
	if (!*where && (number < GT_MSG_RENDEZVOUS_SLOTS ||
			gt_flag_read(&at.mine->done[slot]) >=
				number - GT_MSG_RENDEZVOUS_SLOTS + 1)) {
		*where = (uint64_t)m->buffer;
		gt_pair_flag_post(&at.theirs->room[slot], number, *where);
	}
	return gt_pair_flag_tells(args, m, &at.mine->sent[slot], number);
}

static __device__ __forceinline__ uint32_t
gt_piece_bytes(const struct gt_sendrecv_args *args,
	       const struct gt_kernel_message *m, uint64_t offset)
{
	uint32_t piece = gt_msg_piece_bytes(m->bytes, args->kind);

	return m->bytes - offset < piece ? (uint32_t)(m->bytes - offset)
					 : piece;
}

static __device__ bool gt_ll_msg_move(const struct gt_sendrecv_args *args,
				      const struct gt_kernel_message *m,
				      uint64_t offset, uint64_t number)
{
	struct gt_pair_buffers at = gt_pair_buffers_of(args, m->peer);
	uint32_t slot = number % GT_MSG_LL_SLOTS;
	struct gt_ll_msg message = {m->buffer + offset,
				    gt_piece_bytes(args, m, offset),
				    (uint32_t)number + 1};

	bool whole = args->kind & GT_MSG_LL128_OK, ok;

	if (m->sends) {
		if (whole)
			gt_ll_msg_send<gt_ll128_line>(at.theirs->ll[slot], m,
						      message);
		else
			gt_ll_msg_send<gt_ll_line>(at.theirs->ll[slot], m,
						   message);
		return true;
	}
	ok = whole ? gt_ll_msg_receive<gt_ll128_line>(
			     &args->guard, at.mine->ll[slot], m, message)
		   : gt_ll_msg_receive<gt_ll_line>(
			     &args->guard, at.mine->ll[slot], m, message);
	if (!__syncthreads_and(ok))
		return false;
	if (gt_is_poster())
		gt_piece_post(&at.theirs->read[slot], number);
	return true;
}

static __device__ void gt_piece_move(const struct gt_sendrecv_args *args,
				     const struct gt_kernel_message *m,
				     uint64_t offset, uint64_t number)
{
	struct gt_pair_buffers at = gt_pair_buffers_of(args, m->peer);
	uint32_t slot = number % GT_MSG_SLOTS;

	if (m->sends) {
		gt_piece_copy_out(at.theirs->slots[slot], m->buffer + offset,
				  gt_piece_bytes(args, m, offset));
		__syncthreads();
		if (gt_is_poster()) {
			gt_flag_fence();
			gt_pair_flag_post(&at.theirs->full[slot], number,
					  gt_msg_signature(m));
		}
	} else {
		gt_piece_copy_in(m->buffer + offset, at.mine->slots[slot],
				 gt_piece_bytes(args, m, offset));
		__syncthreads();
		if (gt_is_poster())
			gt_piece_post(&at.theirs->taken[slot], number);
	}
}

/* The poster calls this behind a barrier, when the block has sent its share. */
static __device__ void gt_rendezvous_ends(const struct gt_sendrecv_args *args,
					  const struct gt_kernel_message *m,
					  struct gt_pair_buffers at,
					  uint64_t number)
{
	uint32_t slot = number % GT_MSG_RENDEZVOUS_SLOTS;

	gt_flag_fence();
	if (atomicAdd(&at.mine->parts[slot], 1) !=
	    gt_msg_blocks(m, args->kind, args->quota) - 1)
		return;
	at.mine->parts[slot] = 0;
	/* This fence makes the other blocks' parts visible, too. */
	gt_flag_fence();
	gt_pair_flag_post(&at.theirs->sent[slot], number, gt_msg_signature(m));
}

/* The pieces that a block has of a message, from the next one on. */
struct gt_pieces {
	uint32_t next, end;
};

/* Moves some of the block's pieces of a rendezvous. */
static __device__ void gt_rendezvous_move(const struct gt_sendrecv_args *args,
					  const struct gt_kernel_message *m,
					  struct gt_pieces pieces,
					  uint64_t number, uint64_t where)
{
	struct gt_pair_buffers at = gt_pair_buffers_of(args, m->peer);
	uint64_t piece = gt_msg_piece_bytes(m->bytes, args->kind), offset, end;
	bool ends = pieces.end - pieces.next <= GT_RENDEZVOUS_RUN;

	if (!m->sends) {
		if (gt_is_poster())
			gt_flag_post(&at.mine->done[number %
						    GT_MSG_RENDEZVOUS_SLOTS],
				     number + 1);
		return;
	}
	offset = pieces.next * piece;
	end = ends ? pieces.end * piece : offset + GT_RENDEZVOUS_RUN * piece;
	if (end > m->bytes)
		end = m->bytes;
	gt_piece_copy_out((char *)where + offset, m->buffer + offset,
			  (uint32_t)(end - offset));
	if (!ends)
		return;
	__syncthreads();
	if (gt_is_poster())
		gt_rendezvous_ends(args, m, at, number);
}

#endif
