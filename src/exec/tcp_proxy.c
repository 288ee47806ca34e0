/* The thread that carries slices and credits between slots and sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/tcp.h"

enum {
	GT_TCP_NAP_MS = 20,
	GT_TCP_SPINS = 50, /* empty rounds before it sleeps */
};

static void gt_tcp_break(struct gt_link *link, struct gt_tcp_socket *socket)
{
	atomic_store(&link->broken, socket->process + 1);
	close(socket->fd);
	socket->fd = -1;
}

/* Put a message behind those that go out with the next call. */
static void gt_tcp_load(struct gt_link *link, struct gt_tcp_socket *socket,
			enum gt_tcp_kind kind, uint32_t fifo, uint32_t number)
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
	out->slice_of = NULL;
	socket->nout++;
}

/* A slice that the local rank has written and the far one has room for. */
static void gt_tcp_load_slice(struct gt_link *link,
			      struct gt_tcp_socket *socket, uint32_t i)
{
	struct gt_tcp_fifo *fifo = &socket->fifos[i];
	struct gt_fifo_end *end = &fifo->end;
	uint32_t bytes;

	if (end->at - fifo->credit >= end->nslots || !gt_fifo_can_receive(end))
		return;
	bytes = end->lengths[end->at % end->nslots];
	gt_tcp_load(link, socket, GT_TCP_DATA, i, bytes);
	socket->out[socket->nout - 1].slice_of = fifo;
	socket->pieces[2 * socket->nout - 1] =
		(struct iovec){gt_fifo_slot(end), bytes};
}

/*
 * Slots that the local rank has read since the far side was told, once they
 * are half of all: with the slots on the far side there are still more than
 * were proven (see DESIGN.md), and half the messages less.
 */
static void gt_tcp_load_credit(struct gt_link *link,
			       struct gt_tcp_socket *socket, uint32_t i)
{
	struct gt_tcp_fifo *fifo = &socket->fifos[i];
	uint64_t credit = atomic_load_explicit(&fifo->counters->credit,
					       memory_order_acquire);

	if (credit == fifo->told ||
	    2 * (credit - fifo->told) < fifo->end.nslots)
		return;
	gt_tcp_load(link, socket, GT_TCP_CREDIT, i,
		    (uint32_t)(credit - fifo->told));
	fifo->told = credit;
}

/* What there is to send, at most a message of each FIFO. */
static void gt_tcp_choose(struct gt_link *link, struct gt_tcp_socket *socket)
{
	uint32_t i;

	socket->nout = 0;
	socket->piece = 0;
	for (uint32_t n = 0; n < socket->nfifos && socket->nout < GT_TCP_BATCH;
	     n++) {
		i = socket->turn++ % socket->nfifos;
		if (socket->fifos[i].sends)
			gt_tcp_load_slice(link, socket, i);
		else
			gt_tcp_load_credit(link, socket, i);
	}
}

/* Behind a slice's last byte its slot is free. */
static void gt_tcp_sent(struct gt_tcp_socket *socket, size_t sent)
{
	struct gt_tcp_fifo *fifo;
	struct iovec *piece;

	for (; gt_tcp_is_sending(socket); socket->piece++) {
		piece = &socket->pieces[socket->piece];
		if (sent < piece->iov_len) {
			piece->iov_base = (char *)piece->iov_base + sent;
			piece->iov_len -= sent;
			return;
		}
		sent -= piece->iov_len;
		fifo = socket->out[socket->piece / 2].slice_of;
		if (socket->piece % 2 && fifo) {
			gt_fifo_received(&fifo->end);
			gt_bell_ring(fifo->end.other);
		}
	}
}

/* Send what the socket takes; 1: something, 0: nothing, -1: it is broken. */
static int gt_tcp_push(struct gt_tcp_socket *socket)
{
	struct msghdr message = {
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

/* 1: something was sent, 0: nothing to send or no room. */
static int gt_tcp_send(struct gt_link *link, struct gt_tcp_socket *socket)
{
	int done;

	if (!gt_tcp_is_sending(socket))
		gt_tcp_choose(link, socket);
	if (!gt_tcp_is_sending(socket))
		return 0;
	done = gt_tcp_push(socket);
	if (done < 0)
		gt_tcp_break(link, socket);
	return done != 0;
}

static void gt_tcp_received(struct gt_tcp_socket *socket)
{
	struct gt_tcp_fifo *fifo = socket->receiving;

	gt_fifo_sent(&fifo->end);
	gt_bell_ring(fifo->end.other);
	socket->receiving = NULL;
}

/* Where a slice goes; 0: the head makes no sense. */
static int gt_tcp_begin_slice(struct gt_tcp_socket *socket,
			      struct gt_tcp_fifo *fifo, uint32_t bytes)
{
	if (fifo->sends || bytes > fifo->end.slot_bytes ||
	    !gt_fifo_can_send(&fifo->end))
		return 0;
	socket->receiving = fifo;
	socket->into = gt_fifo_slot(&fifo->end);
	socket->into_left = bytes;
	return 1;
}

static int gt_tcp_take_credit(struct gt_tcp_fifo *fifo, uint32_t number)
{
	fifo->credit += number;
	return fifo->sends && fifo->credit <= fifo->end.at;
}

/* A message's head has come; 0: it makes no sense. */
static int gt_tcp_head(const struct gt_link *link, struct gt_tcp_socket *socket)
{
	struct gt_tcp_head head;
	uint32_t fifo, number;

	memcpy(&head, socket->in + socket->in_at, sizeof(head));
	socket->in_at += sizeof(head);
	fifo = ntohl(head.fifo);
	number = ntohl(head.number);
	if (ntohl(head.generation) != link->generation)
		return ntohl(head.kind) == GT_TCP_CREDIT;
	if (fifo >= socket->nfifos)
		return 0;
	if (ntohl(head.kind) == GT_TCP_DATA)
		return gt_tcp_begin_slice(socket, &socket->fifos[fifo], number);
	return ntohl(head.kind) == GT_TCP_CREDIT &&
	       gt_tcp_take_credit(&socket->fifos[fifo], number);
}

/* Deal with what has been read; 0: it makes no sense. */
static int gt_tcp_parse(const struct gt_link *link,
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

/* The rest of a slice goes where it belongs, what follows into the buffer. */
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

/* 1: something came. */
static int gt_tcp_receive(struct gt_link *link, struct gt_tcp_socket *socket)
{
	ssize_t got = gt_tcp_read(socket);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0 || !gt_tcp_parse(link, socket))
		gt_tcp_break(link, socket);
	return 1;
}

/* One round over all sockets; 0 when nothing could be done. */
static int gt_tcp_round(struct gt_link *link)
{
	uint32_t n = link->nprocesses * link->per_peer;
	int busy = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct gt_tcp_socket *socket = link->sockets[i];

		if (socket && socket->fd >= 0)
			busy |= gt_tcp_send(link, socket);
		if (socket && socket->fd >= 0)
			busy |= gt_tcp_receive(link, socket);
	}
	return busy;
}

int gt_tcp_carry(struct gt_link *link)
{
	int done;

	if (atomic_exchange_explicit(&link->busy, 1, memory_order_acquire))
		return 0;
	done = gt_tcp_round(link);
	atomic_store_explicit(&link->busy, 0, memory_order_release);
	return done;
}

/* What to wait for at the sockets; 0: somebody is at them now. */
static uint32_t gt_tcp_polls(struct gt_link *link, struct pollfd *polls)
{
	uint32_t total = link->nprocesses * link->per_peer, n = 0;

	if (atomic_exchange_explicit(&link->busy, 1, memory_order_acquire))
		return 0;
	polls[n++] = (struct pollfd){.fd = link->wake_fd, .events = POLLIN};
	for (uint32_t i = 0; i < total; i++) {
		const struct gt_tcp_socket *socket = link->sockets[i];

		if (!socket || socket->fd < 0)
			continue;
		polls[n] = (struct pollfd){.fd = socket->fd, .events = POLLIN};
		if (gt_tcp_is_sending(socket))
			polls[n].events |= POLLOUT;
		n++;
	}
	atomic_store_explicit(&link->busy, 0, memory_order_release);
	return n;
}

/* Until a socket or a rank has something; `seen` is from before the round. */
static void gt_tcp_sleep(struct gt_link *link, struct pollfd *polls,
			 uint32_t seen)
{
	struct pollfd wake = {.fd = link->wake_fd, .events = POLLIN};
	uint64_t calls;
	uint32_t n;

	/* Ranks that attend look after sockets and bell. */
	if (atomic_load(&link->attended)) {
		poll(&wake, 1, GT_TCP_NAP_MS);
	} else {
		n = gt_tcp_polls(link, polls);
		atomic_store(&link->bell.asleep, 1);
		if (n && gt_bell_look(&link->bell) == seen)
			poll(polls, n, GT_TCP_NAP_MS);
		atomic_store(&link->bell.asleep, 0);
	}
	if (read(link->wake_fd, &calls, sizeof(calls)) < 0)
		return; /* nobody rang */
}

/* Half a credit on the wire would garble what comes behind it. */
static int gt_tcp_is_torn(const struct gt_tcp_socket *socket)
{
	return socket->fd >= 0 && gt_tcp_is_sending(socket) &&
	       socket->piece % 2 == 0 &&
	       socket->pieces[socket->piece].iov_len <
		       sizeof(struct gt_tcp_head);
}

static void gt_tcp_finish(struct gt_tcp_socket *socket)
{
	struct pollfd wait = {.fd = socket->fd, .events = POLLOUT};

	while (gt_tcp_is_torn(socket) && gt_tcp_push(socket) >= 0)
		poll(&wait, 1, GT_TCP_NAP_MS);
}

void *gt_tcp_main(void *arg)
{
	struct gt_link *link = arg;
	uint32_t n = link->nprocesses * link->per_peer, seen, idle = 0;
	struct pollfd *polls = calloc(n + 1, sizeof(*polls));

	while (polls &&
	       !atomic_load_explicit(&link->stop, memory_order_relaxed)) {
		seen = gt_bell_look(&link->bell);
		idle = gt_tcp_carry(link) ? 0 : idle + 1;
		if (idle > GT_TCP_SPINS || atomic_load(&link->attended))
			gt_tcp_sleep(link, polls, seen);
	}
	for (uint32_t i = 0; i < n; i++)
		if (link->sockets[i])
			gt_tcp_finish(link->sockets[i]);
	free(polls);
	return NULL;
}
