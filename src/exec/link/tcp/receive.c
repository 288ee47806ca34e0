/*
 * The receiving side of TCP: bytes go from sockets to slots, and credits to
 * senders.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "exec/link/tcp/tcp.h"

/* A part has come: hand over slots that have come completely, in order. */
static void gt_tcp_received(struct gt_tcp_socket *socket)
{
	struct gt_tcp_fifo *fifo = socket->receiving;
	struct gt_fifo_end *end = &fifo->end;
	uint64_t before = end->at;
	struct gt_tcp_slot *slot = &fifo->slots[socket->into_slot];

	slot->users--;
	for (;;) {
		slot = &fifo->slots[end->at % end->nslots];
		if (!slot->begun || slot->left || slot->users)
			break;
		slot->begun = 0;
		gt_fifo_sent(end);
	}
	if (end->at != before)
		gt_bell_ring(end->other);
	socket->receiving = NULL;
}

/* Has the local rank read what was in the slot of slice end.at + ahead? */
static int gt_tcp_has_room(struct gt_tcp_fifo *fifo, uint32_t ahead)
{
	struct gt_fifo_end *end = &fifo->end;
	uint64_t slice = end->at + ahead;

	if (ahead >= end->nslots)
		return 0;
	if (slice - end->seen >= end->nslots)
		end->seen = atomic_load_explicit(&fifo->counters->credit,
						 memory_order_acquire);
	return slice - end->seen < end->nslots;
}

/* Find out where a part goes; 0: the head makes no sense. */
static int gt_tcp_begin_part(struct gt_tcp_socket *socket,
			     struct gt_tcp_fifo *fifo,
			     const struct gt_tcp_head *head)
{
	struct gt_fifo_end *end = &fifo->end;
	uint32_t ahead = ntohl(head->slice) - (uint32_t)end->at;
	uint32_t whole = ntohl(head->whole), at = ntohl(head->at);
	uint32_t part = ntohl(head->number), number;
	struct gt_tcp_slot *slot;

	if (fifo->sends || whole > end->slot_bytes || at > whole ||
	    part > whole - at || !gt_tcp_has_room(fifo, ahead))
		return 0;
	number = (uint32_t)((end->at + ahead) % end->nslots);
	slot = &fifo->slots[number];
	if (!slot->begun)
		*slot = (struct gt_tcp_slot){.left = whole, .begun = 1};
	if (part > slot->left || (!part && whole))
		return 0;
	slot->left -= part;
	slot->users++;
	socket->receiving = fifo;
	socket->into_slot = number;
	socket->into = end->slots + number * end->slot_bytes + at;
	socket->into_left = part;
	return 1;
}

static int gt_tcp_take_credit(struct gt_tcp_fifo *fifo, uint32_t number)
{
	fifo->credit += number;
	return fifo->sends && fifo->credit <= fifo->next;
}

/* Read a message's head; 0: it makes no sense. */
static int gt_tcp_head(const struct gt_tcp_link *link,
		       struct gt_tcp_socket *socket)
{
	const struct gt_tcp_peer *peer = socket->peer;
	struct gt_tcp_head head;
	uint32_t fifo;

	memcpy(&head, socket->in + socket->in_at, sizeof(head));
	socket->in_at += sizeof(head);
	fifo = ntohl(head.fifo);
	if (ntohl(head.generation) != link->generation)
		return ntohl(head.kind) == GT_TCP_CREDIT;
	if (fifo >= peer->nfifos)
		return 0;
	if (ntohl(head.kind) == GT_TCP_DATA)
		return gt_tcp_begin_part(socket, &peer->fifos[fifo], &head);
	return ntohl(head.kind) == GT_TCP_CREDIT &&
	       gt_tcp_take_credit(&peer->fifos[fifo], ntohl(head.number));
}

/* Handle all messages that have been read; 0: one makes no sense. */
static int gt_tcp_parse(const struct gt_tcp_link *link,
			struct gt_tcp_socket *socket)
{
	uint32_t n;

	for (;;) {
		if (socket->receiving) {
			n = socket->in_len - socket->in_at;
			if (n > socket->into_left)
				n = socket->into_left;
			memcpy(socket->into, socket->in + socket->in_at, n);
			socket->in_at += n;
			socket->into += n;
			socket->into_left -= n;
			if (socket->into_left)
				return 1;
			gt_tcp_received(socket);
		}
		if (socket->in_len - socket->in_at < sizeof(struct gt_tcp_head))
			return 1;
		if (!gt_tcp_head(link, socket))
			return 0;
	}
}

/*
 * Read the rest of a part to where it belongs, and what follows into the
 * buffer.
 */
static ssize_t gt_tcp_read(struct gt_tcp_socket *socket)
{
	uint32_t left = socket->in_len - socket->in_at;
	struct iovec pieces[2] = {
		{socket->into, socket->receiving ? socket->into_left : 0},
		{socket->in + left, sizeof(socket->in) - left},
	};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	ssize_t got;
	uint32_t body;

	memmove(socket->in, socket->in + socket->in_at, left);
	socket->in_at = 0;
	socket->in_len = left;
	got = recvmsg(socket->fd, &message, MSG_DONTWAIT);
	if (got <= 0)
		return got;
	body = (size_t)got < pieces[0].iov_len ? (uint32_t)got
					       : (uint32_t)pieces[0].iov_len;
	socket->into += body;
	socket->into_left -= body;
	socket->in_len += (uint32_t)got - body;
	return got;
}

int gt_tcp_receive(const struct gt_tcp_link *link, struct gt_tcp_socket *socket)
{
	ssize_t got = gt_tcp_read(socket);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return got > 0 && gt_tcp_parse(link, socket) ? 1 : -1;
}
