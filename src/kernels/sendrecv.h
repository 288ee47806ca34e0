/*
 * Messages between two ranks, of which only these two know.
 *
 * Each rank has a pair buffer for every rank, itself included, in memory that
 * all reach. A message takes one of three protocols, which both sides know from
 * its bytes.
 *
 * LL, for small messages: lines of 16 bytes in the receiver's pair buffer, with
 * 8 of data and a flag behind every 4, so that there is neither fence nor
 * second flag. Where stores of 128 bytes are atomic, LL128 carries larger ones
 * too, in lines with 120 of data.
 *
 * Rendezvous: the receiver tells the sender the address, the sender puts the
 * data there and sets one flag when all of it has come. It needs buffers in
 * reach.
 *
 * Pipelined: through slots of the receiver's pair buffer, with a flag each.
 *
 * The LL slots, rendezvous and pieces of a pair have numbers, each from 0;
 * number n has slot n % slots. Flags repeat a message's bytes, to find who is
 * mistaken.
 */
#ifndef GT_KERNELS_SENDRECV_H
#define GT_KERNELS_SENDRECV_H

#include <stdint.h>

#include "kernels/kernels.h"

enum {
	GT_MSG_LL_SLOTS = 256,
	GT_MSG_LL_BYTES = 8 << 10,       /* of data */
	GT_MSG_LL_MAX_BYTES = 256 << 10, /* of one message */
	/*
	 * In the host's memory LL's flags cost as much as its data.  Two ranks
	 * of two H200 that do not reach each other send each other 256 KiB in
	 * 35.7 us as LL and in 30.2 in pieces, 64 KiB as LL in 17.4.
	 */
	GT_MSG_HOST_LL_MAX_BYTES = 128 << 10,
	GT_MSG_LL128_BYTES = 14 << 10, /* the same of whole lines */
	GT_MSG_LL128_MAX_BYTES = 1 << 20,
	GT_MSG_LINE_BYTES = 16,
	GT_MSG_LINE_DATA = 8,
	GT_MSG_LL128_LINES = 8, /* of which only the last has a flag */
	GT_MSG_LL128_DATA = 120,
	/* The data's lines follow eight that tell the message's bytes. */
	GT_MSG_LL_PITCH =
		(GT_MSG_LL_BYTES / GT_MSG_LINE_DATA + 8) * GT_MSG_LINE_BYTES,
	GT_MSG_RENDEZVOUS_SLOTS = 64,
	GT_MSG_SLOTS = 128,
	GT_MSG_PIECE_MAX_BYTES = 64 << 10,
	GT_MSG_PIECE_MIN_BYTES = 4 << 10, /* of a piece */
	/*
	 * There small pieces keep both directions of PCIe busy: 64 MiB both
	 * ways take 2084 us in the largest pieces, and 1831 in these.
	 */
	GT_MSG_HOST_PIECE_BYTES = 8 << 10,
};

/*
 * The flag of a slot, in the memory of who waits for it. Its value is
 * gt_msg_signature() of the message, or an address. Each 64-bit word has one
 * half of the value in its low half and the slot's number, plus 1, in its high
 * half: so one store tells both.
 */
struct gt_pair_flag {
	uint64_t halves[2];
};

/*
 * A rank's buffer for one peer. It holds what comes from that peer, unless a
 * comment says otherwise.
 */
struct gt_pair_buffer {
	char ll[GT_MSG_LL_SLOTS][GT_MSG_LL_PITCH];
	struct gt_pair_flag sent[GT_MSG_RENDEZVOUS_SLOTS]; /* all of it */
	struct gt_pair_flag full[GT_MSG_SLOTS];
	/* These are about what the owner sends to the peer. */
	struct gt_pair_flag
		room[GT_MSG_RENDEZVOUS_SLOTS]; /* its address there */
	uint64_t read[GT_MSG_LL_SLOTS];        /* number and 1 */
	uint64_t taken[GT_MSG_SLOTS];
	/* Only the owner uses these. */
	uint64_t done[GT_MSG_RENDEZVOUS_SLOTS]; /* the last that came, and 1 */
	uint32_t parts
		[GT_MSG_RENDEZVOUS_SLOTS]; /* blocks that have sent theirs */
	/* The slots exist only where messages are pipelined. */
	char slots[GT_MSG_SLOTS][GT_MSG_PIECE_MAX_BYTES];
};

enum gt_msg_protocol {
	GT_MSG_LL,
	GT_MSG_RENDEZVOUS,
	GT_MSG_PIPELINED,
	GT_MSG_PROTOCOLS,
};

/* The counters lie behind the pair buffers, and only their owner uses them. */
struct gt_pair_counters {
	/* How many numbers have been given so far. */
	uint64_t count[2][GT_MSG_PROTOCOLS][GT_P2P_RANKS]; /* [sends] */
	uint32_t tickets; /* of the blocks of the launch that runs */
	uint32_t reserved;
};

/* Properties of the pair buffers that all ranks know, as bits. */
enum {
	GT_MSG_DIRECT = 1,   /* ranks reach each other's buffers */
	GT_MSG_LL128_OK = 2, /* stores of 128 bytes arrive whole */
	GT_MSG_IN_HOST = 4,  /* pair buffers lie in the host's memory */
};

/* Returns the bytes from one pair buffer to the next. */
GT_HD static inline uint64_t gt_pair_buffer_pitch(uint32_t kind)
{
	uint64_t slots = sizeof(((struct gt_pair_buffer *)0)->slots);

	return sizeof(struct gt_pair_buffer) -
	       (kind & GT_MSG_DIRECT ? slots : 0);
}

GT_HD static inline enum gt_msg_protocol gt_msg_protocol_of(uint64_t bytes,
							    uint32_t kind)
{
	if (bytes <= (kind & GT_MSG_IN_HOST    ? GT_MSG_HOST_LL_MAX_BYTES
		      : kind & GT_MSG_LL128_OK ? GT_MSG_LL128_MAX_BYTES
					       : GT_MSG_LL_MAX_BYTES))
		return GT_MSG_LL;
	return kind & GT_MSG_DIRECT ? GT_MSG_RENDEZVOUS : GT_MSG_PIPELINED;
}

/*
 * Returns the bytes that a block takes at a time; they are few enough that many
 * blocks are soon at work.
 */
GT_HD static inline uint32_t gt_msg_piece_bytes(uint64_t bytes, uint32_t kind)
{
	if (gt_msg_protocol_of(bytes, kind) == GT_MSG_LL)
		return kind & GT_MSG_LL128_OK ? GT_MSG_LL128_BYTES
					      : GT_MSG_LL_BYTES;
	if (kind & GT_MSG_IN_HOST)
		return GT_MSG_HOST_PIECE_BYTES;
	if (bytes < (uint64_t)GT_MSG_SLOTS * GT_MSG_PIECE_MIN_BYTES)
		return GT_MSG_PIECE_MIN_BYTES;
	if (bytes >= (uint64_t)GT_MSG_SLOTS * GT_MSG_PIECE_MAX_BYTES)
		return GT_MSG_PIECE_MAX_BYTES;
	return (uint32_t)(bytes / GT_MSG_SLOTS / 1024 * 1024);
}

/*
 * The size of a piece in KiB. Kernels divide 32 bits, since a division of 64
 * takes so long that it shows in small messages.
 */
GT_HD static inline uint32_t gt_msg_piece_kib(uint64_t bytes, uint32_t kind)
{
	return gt_msg_piece_bytes(bytes, kind) >> 10;
}

GT_HD static inline uint32_t gt_msg_pieces(uint64_t bytes, uint32_t kind)
{
	uint32_t kib = (uint32_t)((bytes + 1023) >> 10);
	uint32_t piece = gt_msg_piece_kib(bytes, kind);

	return kib <= piece ? 1 : (kib + piece - 1) / piece;
}

/* Returns how many numbers a message takes. */
GT_HD static inline uint32_t gt_msg_numbers(uint64_t bytes, uint32_t kind)
{
	return gt_msg_protocol_of(bytes, kind) == GT_MSG_RENDEZVOUS
		       ? 1
		       : gt_msg_pieces(bytes, kind);
}

/* One send or receive of at least one byte. */
struct gt_kernel_message {
	char *buffer;
	uint64_t bytes : 48;
	uint64_t peer : 8;
	uint64_t sends : 1;
	uint64_t dtype : 7;
	/*
	 * What comes before it in the launch: numbers of its pair and protocol,
	 * and KiB of work.
	 */
	uint32_t first, at;
};

/*
 * Blocks share the work of all messages of a launch, each a quota of the work
 * laid end to end; a piece belongs to the block that its first byte does. So
 * the larger a message is, the more blocks are at work on it, and all end at
 * the same time. The receiver of a rendezvous need not do much. What goes
 * through slots is dealt out piece by piece instead, since only so many are on
 * their way.
 */
GT_HD static inline uint32_t gt_msg_shares(const struct gt_kernel_message *m,
					   uint32_t kind)
{
	return !m->sends && gt_msg_protocol_of(m->bytes, kind) ==
				       GT_MSG_RENDEZVOUS
		       ? 1
		       : gt_msg_pieces(m->bytes, kind);
}

GT_HD static inline uint64_t gt_msg_work_kib(const struct gt_kernel_message *m,
					     uint32_t kind)
{
	return (uint64_t)gt_msg_shares(m, kind) *
	       gt_msg_piece_kib(m->bytes, kind);
}

/*
 * Returns the first of a message's pieces that is not for blocks before this
 * one.
 */
GT_HD static inline uint32_t gt_msg_first_piece(
	const struct gt_kernel_message *m, uint32_t kind, uint32_t quota,
	uint32_t block)
{
	uint32_t begin = quota * block, shares = gt_msg_shares(m, kind);
	uint32_t piece = gt_msg_piece_kib(m->bytes, kind);

	if (begin <= m->at || shares == 1)
		return begin > m->at;
	begin = (begin - m->at + piece - 1) / piece;
	return begin < shares ? begin : shares;
}

/* Returns how many blocks have some of its pieces. */
GT_HD static inline uint32_t gt_msg_blocks(const struct gt_kernel_message *m,
					   uint32_t kind, uint32_t quota)
{
	uint32_t pieces = gt_msg_pieces(m->bytes, kind);
	uint32_t piece = gt_msg_piece_kib(m->bytes, kind);

	return piece > quota ? pieces
			     : (m->at + (pieces - 1) * piece) / quota -
				       m->at / quota + 1;
}

/* Returns what both sides must agree on. */
GT_HD static inline uint64_t gt_msg_signature(const struct gt_kernel_message *m)
{
	return (uint64_t)m->bytes << 8 | m->dtype;
}

#ifdef __cplusplus
extern "C" {
#endif

enum {
	GT_SENDRECV_THREADS = 512,
	/* These stand for steps in reports. */
	GT_SENDRECV_RECEIVES = 0x10000,
	GT_SENDRECV_SENDS = 0x10001,
};

/* Arguments for all messages of one rank that start together. */
struct gt_sendrecv_args {
	struct gt_kernel_guard guard;
	char *pair_buffers[GT_P2P_RANKS]; /* of each rank */
	struct gt_pair_counters *counts;  /* the own */
	uint32_t me, n;
	uint32_t kind;  /* GT_DESK_... */
	uint32_t quota; /* of a block, KiB */
};

/* Load the kernels on the current device. */
int gt_sendrecv_prepare(void);

/* Returns the most messages that one launch takes. */
uint32_t gt_sendrecv_most(void);

/* Runs one launch of one rank: messages[args->n].  It chooses the threads. */
int gt_sendrecv_run(const struct gt_kernel_grid *grid,
		    const struct gt_sendrecv_args *args,
		    const struct gt_kernel_message *messages);

#ifdef __cplusplus
}
#endif

#endif
