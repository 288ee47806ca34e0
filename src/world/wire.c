/* Buffers and frames of a connection (world/wire.h). */
#include "world/wire.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/must.h"

enum { GT_WIRE_READ_BYTES = 64 << 10 };

void gt_wire_init(struct gt_wire *wire, int fd)
{
	*wire = (struct gt_wire){.fd = fd};
}

void gt_wire_close(struct gt_wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	gt_buf_release(&wire->in);
	gt_buf_release(&wire->out);
	*wire = (struct gt_wire){.fd = -1};
}

/* Remove the bytes that have been dealt with, so that buffers stay small. */
static void gt_wire_shift(struct gt_buf *buf, size_t *at)
{
	/* Nothing is dealt with before it has come. */
	GT_MUST(*at <= buf->len);
	if (!*at)
		return;
	memmove(buf->text, buf->text + *at, buf->len - *at);
	buf->len -= *at;
	*at = 0;
}

int gt_wire_add(struct gt_wire *wire, const void *bytes, size_t len)
{
	gt_wire_shift(&wire->out, &wire->out_at);
	gt_buf_add(&wire->out, bytes, len);
	return !wire->out.failed;
}

int gt_wire_put(struct gt_wire *wire, const struct gt_frame *frame)
{
	uint32_t head[2] = {htonl(frame->type), htonl(frame->bytes)};
	uint64_t seq = htobe64(frame->seq);

	return gt_wire_add(wire, head, sizeof(head)) &&
	       gt_wire_add(wire, &seq, sizeof(seq)) &&
	       (!frame->bytes ||
		gt_wire_add(wire, frame->payload, frame->bytes));
}

int gt_wire_flush(struct gt_wire *wire)
{
	ssize_t sent;

	while (gt_wire_has_output(wire)) {
		sent = send(wire->fd, wire->out.text + wire->out_at,
			    wire->out.len - wire->out_at,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		wire->out_at += (size_t)sent;
	}
	return 1;
}

int gt_wire_fill(struct gt_wire *wire, size_t room)
{
	char piece[GT_WIRE_READ_BYTES];
	size_t ask;
	ssize_t got;

	gt_wire_shift(&wire->in, &wire->in_at);
	while (wire->in.len < room) {
		ask = room - wire->in.len;
		got = recv(wire->fd, piece,
			   ask < sizeof(piece) ? ask : sizeof(piece),
			   MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN;
		if (!got)
			return 0;
		gt_buf_add(&wire->in, piece, (size_t)got);
		if (wire->in.failed)
			return 0;
	}
	return 1;
}

const void *gt_wire_take(struct gt_wire *wire, size_t len)
{
	const void *bytes;

	if (wire->in.len - wire->in_at < len)
		return NULL;
	bytes = wire->in.text + wire->in_at;
	wire->in_at += len;
	return bytes;
}

int gt_wire_next(struct gt_wire *wire, uint32_t most, struct gt_frame *frame)
{
	size_t have = wire->in.len - wire->in_at;
	const char *at = wire->in.text + wire->in_at;
	uint32_t head[2];
	uint64_t seq;

	if (have < GT_WIRE_HEADER_BYTES)
		return 0;
	memcpy(head, at, sizeof(head));
	memcpy(&seq, at + sizeof(head), sizeof(seq));
	frame->type = ntohl(head[0]);
	frame->bytes = ntohl(head[1]);
	frame->seq = be64toh(seq);
	frame->payload = at + GT_WIRE_HEADER_BYTES;
	if (frame->bytes > most)
		return -1;
	if (have - GT_WIRE_HEADER_BYTES < frame->bytes)
		return 0;
	wire->in_at += GT_WIRE_HEADER_BYTES + frame->bytes;
	return 1;
}
