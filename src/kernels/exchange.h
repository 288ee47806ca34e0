/*
 * Messages between ranks that only the two know of.
 *
 * Each rank has a desk for every rank, itself included, in memory that all
 * reach.  What comes from rank p goes through p's desk here, in pieces: data
 * and flag lie with the receiver, and with the sender the flags that say which
 * pieces were taken.  Pieces of a pair are numbered from the first message on;
 * number n has slot n % slots.  Both know a message's bytes and so its pieces;
 * the flag tells them again, to find who is mistaken.
 *
 * Small messages are one piece, a letter: lines of 16 bytes with 8 of data and
 * a flag behind every 4, so that they need neither fence nor second flag.
 * Letters have slots and numbers of their own.
 */
#ifndef GT_KERNELS_EXCHANGE_H
#define GT_KERNELS_EXCHANGE_H

#include <stdint.h>

#include "kernels/flow.h"
#include "plan/program.h"

enum {
	GT_DESK_SLOTS = 64,
	GT_DESK_PIECE_BYTES = 64 << 10,
	GT_DESK_LEAST_BYTES = 4 << 10, /* of a piece of a large message */
	GT_DESK_LETTERS = 8,
	GT_DESK_LETTER_BYTES = 16 << 10, /* of data, at most */
	GT_DESK_LINE_BYTES = 16,
	GT_DESK_LINE_DATA = 8,
	/* Behind a line that tells the bytes. */
	GT_DESK_LETTER_PITCH = (GT_DESK_LETTER_BYTES / GT_DESK_LINE_DATA + 8) *
			       GT_DESK_LINE_BYTES,
};

/* Beside a slot. */
struct gt_desk_flag {
	uint64_t number; /* of the piece that is there, and 1 */
	uint64_t what;   /* gt_desk_what() of its message */
};

struct gt_desk {
	char slots[GT_DESK_SLOTS][GT_DESK_PIECE_BYTES];
	char letters[GT_DESK_LETTERS][GT_DESK_LETTER_PITCH];
	struct gt_desk_flag full[GT_DESK_SLOTS];
	/* Of what the owner sent to the desk's rank: taken up to there. */
	uint64_t taken[GT_DESK_SLOTS];
	uint64_t read[GT_DESK_LETTERS];
};

enum {
	GT_DESK_FLOW_PIECES,
	GT_DESK_FLOW_LETTERS,
	GT_DESK_FLOWS,
};

/* Behind the desks; only the owner's. */
struct gt_desk_counts {
	/* Pieces so far. */
	uint64_t count[2][GT_DESK_FLOWS][GT_FLOW_RANKS]; /* [sends] */
	uint32_t tickets; /* of the blocks of the launch that runs */
	uint32_t reserved;
};

GT_HD static inline int gt_desk_is_letter(uint64_t bytes)
{
	return bytes <= GT_DESK_LETTER_BYTES;
}

/* A piece of a message: all slots are at work soon. */
GT_HD static inline uint32_t gt_desk_piece(uint64_t bytes)
{
	if (bytes < (uint64_t)GT_DESK_SLOTS * GT_DESK_LEAST_BYTES)
		return GT_DESK_LEAST_BYTES;
	if (bytes >= (uint64_t)GT_DESK_SLOTS * GT_DESK_PIECE_BYTES)
		return GT_DESK_PIECE_BYTES;
	return (uint32_t)(bytes / GT_DESK_SLOTS / 1024 * 1024);
}

/* Pieces of a message that is not empty. */
GT_HD static inline uint64_t gt_desk_pieces(uint64_t bytes)
{
	uint32_t piece = gt_desk_piece(bytes);

	return gt_desk_is_letter(bytes) ? 1 : (bytes + piece - 1) / piece;
}

/* One call, not of nothing. */
struct gt_kernel_message {
	char *buffer;
	uint64_t bytes;
	uint32_t first; /* pieces of the pair before it in the same launch */
	uint16_t peer;
	uint8_t sends;
	uint8_t dtype;
};

/* What both sides must agree on. */
GT_HD static inline uint64_t gt_desk_what(const struct gt_kernel_message *m)
{
	return m->bytes << 8 | m->dtype;
}

#endif
