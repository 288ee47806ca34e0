/*
 * The sending side of TCP: what goes next from slots to sockets, and when a
 * slot is free again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "exec/link/tcp/tcp.h"

enum { GT_TCP_FINISH_MS = 20, GT_TCP_FINISH_TIMES = 25 };

/* Put a message behind those that go out with the next call. */
static struct gt_tcp_out *gt_tcp_load(const struct gt_tcp_link *link,
				      struct gt_tcp_socket *socket,
				      enum gt_tcp_kind kind, uint32_t fifo,
				      uint32_t number)
{
	struct gt_tcp_out *out = &socket->out[socket->nout];

	out->head = (struct gt_tcp_head){
		.kind = htonl(kind),
		.generation = htonl(link->generation),
		.fifo = htonl(fifo),
		.number = htonl(number),
	};
	socket->pieces[2 * socket->nout] =
		(struct iovec){&out->head, sizeof(out->head)};
	socket->pieces[2 * socket->nout + 1] = (struct iovec){NULL, 0};
	out->part_of = NULL;
	socket->nout++;
	return out;
}

/*
 * Has the local rank written the next slice, and has the far one room for it?
 */
static int gt_tcp_has_slice(struct gt_tcp_fifo *fifo)
{
	struct gt_fifo_end *end = &fifo->end;

	if (fifo->next - fifo->credit >= end->nslots)
		return 0;
	if (fifo->next == end->seen)
		end->seen = atomic_load_explicit(&fifo->counters->data,
						 memory_order_acquire);
	return fifo->next < end->seen;
}

/*
 * Does this socket take the next part?  Sockets take turns, and those are
 * passed over that have not sent their last part yet; a slice that is not worth
 * cutting goes where the last one like it went.
 */
static int gt_tcp_takes(const struct gt_tcp_socket *socket, uint32_t whole)
{
	const struct gt_tcp_peer *peer = socket->peer;
	uint32_t i = whole < 2 * GT_TCP_PART_BYTES ? 0 : peer->socket_turn;

	while (i != socket->index && gt_tcp_is_sending(peer->sockets[i]))
		i = (i + 1) % peer->nsockets;
	return i == socket->index;
}

/* Return how many bytes one socket takes of a slice. */
static uint32_t gt_tcp_part(const struct gt_tcp_peer *peer, uint32_t whole,
			    uint32_t left)
{
	uint32_t part = (whole + peer->nsockets - 1) / peer->nsockets;

	if (part < GT_TCP_PART_BYTES)
		part = GT_TCP_PART_BYTES;
	/*
	 * A part is whole cache lines, and leaves no rest that is smaller than
	 * is worth sending.
	 */
	part = (uint32_t)gt_cache_lines_bytes(part);
	return left < part + GT_TCP_PART_BYTES / 2 ? left : part;
}

static void gt_tcp_load_part(const struct gt_tcp_link *link,
			     struct gt_tcp_socket *socket, uint32_t i)
{
	struct gt_tcp_peer *peer = socket->peer;
	struct gt_tcp_fifo *fifo = &peer->fifos[i];
	uint32_t number = (uint32_t)(fifo->next % fifo->end.nslots);
	struct gt_tcp_slot *slot = &fifo->slots[number];
	uint32_t whole, part, at;
	struct gt_tcp_out *out;

	if (!gt_tcp_has_slice(fifo))
		return;
	whole = fifo->end.lengths[number];
	if (!gt_tcp_takes(socket, whole))
		return;
	if (!slot->begun)
		*slot = (struct gt_tcp_slot){.left = whole, .begun = 1};
	part = gt_tcp_part(peer, whole, slot->left);
	at = whole - slot->left;
	out = gt_tcp_load(link, socket, GT_TCP_DATA, i, part);
	out->head.slice = htonl((uint32_t)fifo->next);
	out->head.at = htonl(at);
	out->head.whole = htonl(whole);
	out->part_of = fifo;
	out->slot = number;
	socket->pieces[2 * socket->nout - 1] = (struct iovec){
		fifo->end.slots + number * fifo->end.slot_bytes + at, part};
	slot->users++;
	slot->left -= part;
	fifo->next += !slot->left;
	if (part < whole)
		peer->socket_turn = (socket->index + 1) % peer->nsockets;
}

/*
 * Send credits for slots that the local rank has read, once they are half of
 * all: with the slots on the far side there are still more than were proven
 * (docs/design/processes-and-links.md), and half the messages less.
 */
static void gt_tcp_load_credit(const struct gt_tcp_link *link,
			       struct gt_tcp_socket *socket, uint32_t i)
{
	struct gt_tcp_fifo *fifo = &socket->peer->fifos[i];
	uint64_t credit = atomic_load_explicit(&fifo->counters->credit,
					       memory_order_acquire);

	if (credit == fifo->told ||
	    2 * (credit - fifo->told) < fifo->end.nslots)
		return;
	gt_tcp_load(link, socket, GT_TCP_CREDIT, i,
		    (uint32_t)(credit - fifo->told));
	fifo->told = credit;
}

/* Choose what to send next, at most one message of each FIFO. */
static void gt_tcp_choose(const struct gt_tcp_link *link,
			  struct gt_tcp_socket *socket)
{
	struct gt_tcp_peer *peer = socket->peer;
	uint32_t i;

	socket->nout = 0;
	socket->piece = 0;
	for (uint32_t n = 0; n < peer->nfifos && socket->nout < GT_TCP_BATCH;
	     n++) {
		i = peer->turn++ % peer->nfifos;
		if (peer->fifos[i].sends)
			gt_tcp_load_part(link, socket, i);
		else
			gt_tcp_load_credit(link, socket, i);
	}
}

/* A part has gone: slots that have gone completely are free again, in order. */
static void gt_tcp_release(struct gt_tcp_fifo *fifo, uint32_t number)
{
	struct gt_fifo_end *end = &fifo->end;
	uint64_t before = end->at;
	struct gt_tcp_slot *slot = &fifo->slots[number];

	slot->users--;
	while (end->at < fifo->next) {
		slot = &fifo->slots[end->at % end->nslots];
		if (slot->users)
			break;
		slot->begun = 0;
		gt_fifo_received(end);
	}
	if (end->at != before)
		gt_bell_ring(end->other);
}

static void gt_tcp_sent(struct gt_tcp_socket *socket, size_t sent)
{
	const struct gt_tcp_out *out;
	struct iovec *piece;

	for (; gt_tcp_is_sending(socket); socket->piece++) {
		piece = &socket->pieces[socket->piece];
		if (sent < piece->iov_len) {
			piece->iov_base = (char *)piece->iov_base + sent;
			piece->iov_len -= sent;
			return;
		}
		sent -= piece->iov_len;
		out = &socket->out[socket->piece / 2];
		if (socket->piece % 2 && out->part_of)
			gt_tcp_release(out->part_of, out->slot);
	}
}

/* Send what the socket accepts; 1: something, 0: nothing, -1: it is broken. */
static int gt_tcp_push(struct gt_tcp_socket *socket)
{
	const struct msghdr message = {
		.msg_iov = &socket->pieces[socket->piece],
		.msg_iovlen = 2 * socket->nout - socket->piece,
	};
	ssize_t sent =
		sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	gt_tcp_sent(socket, (size_t)sent);
	return 1;
}

int gt_tcp_send(const struct gt_tcp_link *link, struct gt_tcp_socket *socket)
{
	if (!gt_tcp_is_sending(socket))
		gt_tcp_choose(link, socket);
	return gt_tcp_is_sending(socket) ? gt_tcp_push(socket) : 0;
}

/* Has only a part of a head gone?  That would garble what comes behind it. */
static int gt_tcp_is_torn(const struct gt_tcp_socket *socket)
{
	return socket->fd >= 0 && gt_tcp_is_sending(socket) &&
	       socket->piece % 2 == 0 &&
	       socket->pieces[socket->piece].iov_len <
		       sizeof(struct gt_tcp_head);
}

void gt_tcp_finish(struct gt_tcp_socket *socket)
{
	struct pollfd wait = {.fd = socket->fd, .events = POLLOUT};

	for (int n = 0; n < GT_TCP_FINISH_TIMES && gt_tcp_is_torn(socket) &&
			gt_tcp_push(socket) >= 0;
	     n++)
		poll(&wait, 1, GT_TCP_FINISH_MS);
}
