/*
 * Frames over a socket that never blocks: what is to be sent waits in a
 * buffer, what has come is handed out frame by frame.  One thread uses a wire
 * at a time.
 *
 * A frame is a header of 16 bytes in network order (type, payload bytes,
 * sequence number) and its payload.  Only processes that have proved that
 * they know the secret get to send any (world/auth.h); lengths are bounded
 * all the same.
 */
#ifndef GT_WORLD_WIRE_H
#define GT_WORLD_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { GT_WIRE_HEADER_BYTES = 16 };

struct gt_wire {
	int fd; /* -1: closed */
	struct gt_buf in, out;
	size_t in_at, out_at; /* bytes before these have been dealt with */
};

struct gt_frame {
	uint32_t type;
	uint32_t bytes;
	uint64_t seq;
	/* In the wire's buffer, until the next gt_wire_fill(). */
	const char *payload;
};

/* Takes the socket. */
void gt_wire_init(struct gt_wire *wire, int fd);
void gt_wire_close(struct gt_wire *wire);

/* Queue bytes, or a frame, for sending; 0 when memory ran out. */
int gt_wire_add(struct gt_wire *wire, const void *bytes, size_t len);
int gt_wire_put(struct gt_wire *wire, const struct gt_frame *frame);

/* Send what the socket accepts now; 0 when the other side is gone. */
int gt_wire_flush(struct gt_wire *wire);

static inline int gt_wire_has_output(const struct gt_wire *wire)
{
	return wire->out_at < wire->out.len;
}

/*
 * Receive what is there, at most `room` bytes that have not been dealt with;
 * 0 when the other side is gone.
 */
int gt_wire_fill(struct gt_wire *wire, size_t room);

/*
 * Take exactly `len` bytes of what has come, or NULL if there are not so many
 * yet.
 */
const void *gt_wire_take(struct gt_wire *wire, size_t len);

/*
 * Take the next frame. 1: there is one, 0: not yet, -1: it is longer than
 * `most` bytes.
 */
int gt_wire_next(struct gt_wire *wire, uint32_t most, struct gt_frame *frame);

#endif
