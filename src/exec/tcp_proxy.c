/* The thread that carries slices and credits between slots and sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exec/tcp.h"

enum {
	GT_TCP_NAP_MS = 20,
	GT_TCP_SPINS = 50, /* empty rounds before it sleeps */
	/* Messages to one socket in a row, so that all get their turn. */
	GT_TCP_BURST = 16,
};

static void gt_tcp_break(struct gt_link *link, struct gt_tcp_socket *socket)
{
	atomic_store(&link->broken, socket->process + 1);
	close(socket->fd);
	socket->fd = -1;
}

static void gt_tcp_load(struct gt_link *link, struct gt_tcp_socket *socket,
			enum gt_tcp_kind kind, uint32_t fifo, uint32_t number)
{
	socket->head = (struct gt_tcp_head){
		.kind = htonl(kind),
		.generation = htonl(link->generation),
		.fifo = htonl(fifo),
		.number = htonl(number),
	};
	socket->head_left = sizeof(socket->head);
}

/* A slice that the local rank has written and the far one has room for. */
static int gt_tcp_load_slice(struct gt_link *link, struct gt_tcp_socket *socket,
			     uint32_t i)
{
	struct gt_tcp_fifo *fifo = &socket->fifos[i];
	struct gt_fifo_end *end = &fifo->end;
	uint32_t bytes;

	if (end->at - fifo->credit >= end->nslots || !gt_fifo_can_receive(end))
		return 0;
	bytes = end->lengths[end->at % end->nslots];
	gt_tcp_load(link, socket, GT_TCP_DATA, i, bytes);
	socket->body = gt_fifo_slot(end);
	socket->body_left = bytes;
	socket->sending = fifo;
	return 1;
}

/* Slots that the local rank has read since the far side was told. */
static int gt_tcp_load_credit(struct gt_link *link,
			      struct gt_tcp_socket *socket, uint32_t i)
{
	struct gt_tcp_fifo *fifo = &socket->fifos[i];
	uint64_t credit = atomic_load_explicit(&fifo->counters->credit,
					       memory_order_acquire);

	if (credit == fifo->told)
		return 0;
	gt_tcp_load(link, socket, GT_TCP_CREDIT, i,
		    (uint32_t)(credit - fifo->told));
	fifo->told = credit;
	return 1;
}

/* Choose what to send next; 0 when there is nothing. */
static int gt_tcp_choose(struct gt_link *link, struct gt_tcp_socket *socket)
{
	uint32_t i;

	for (uint32_t n = 0; n < socket->nfifos; n++) {
		i = socket->turn++ % socket->nfifos;
		if (socket->fifos[i].sends
			    ? gt_tcp_load_slice(link, socket, i)
			    : gt_tcp_load_credit(link, socket, i))
			return 1;
	}
	return 0;
}

/* The slice is on its way: its slot is free. */
static void gt_tcp_sent(struct gt_tcp_socket *socket)
{
	struct gt_tcp_fifo *fifo = socket->sending;

	if (!fifo)
		return;
	gt_fifo_received(&fifo->end);
	gt_bell_ring(fifo->end.other);
	socket->sending = NULL;
}

/* Send what the socket takes; how many bytes, or -1: it is broken. */
static ssize_t gt_tcp_push(struct gt_tcp_socket *socket)
{
	struct iovec pieces[2] = {
		{(char *)&socket->head + sizeof(socket->head) -
			 socket->head_left,
		 socket->head_left},
		{(void *)(uintptr_t)socket->body, socket->body_left},
	};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	ssize_t sent =
		sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	uint32_t head;

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	head = (size_t)sent < socket->head_left ? (uint32_t)sent
						: socket->head_left;
	socket->head_left -= head;
	socket->body += (size_t)sent - head;
	socket->body_left -= (uint32_t)((size_t)sent - head);
	return sent;
}

/* 1: something was sent, 0: nothing to send or no room. */
static int gt_tcp_send(struct gt_link *link, struct gt_tcp_socket *socket)
{
	ssize_t sent, total = 0;

	for (int n = 0; n < GT_TCP_BURST; n++) {
		if (!socket->head_left && !socket->body_left &&
		    !gt_tcp_choose(link, socket))
			break;
		sent = gt_tcp_push(socket);
		if (sent < 0) {
			gt_tcp_break(link, socket);
			return 1;
		}
		total += sent;
		if (socket->head_left || socket->body_left)
			break;
		gt_tcp_sent(socket);
	}
	return total > 0;
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

/* A long slice is read to where it belongs, all else into the buffer. */
static ssize_t gt_tcp_read(struct gt_tcp_socket *socket)
{
	uint32_t left = socket->in_len - socket->in_at;
	ssize_t got;

	if (socket->receiving && !left &&
	    socket->into_left >= GT_TCP_READ_BYTES / 4) {
		got = recv(socket->fd, socket->into, socket->into_left,
			   MSG_DONTWAIT);
		if (got > 0) {
			socket->into += got;
			socket->into_left -= (uint32_t)got;
		}
		return got;
	}
	memmove(socket->in, socket->in + socket->in_at, left);
	socket->in_at = 0;
	socket->in_len = left;
	got = recv(socket->fd, socket->in + left, sizeof(socket->in) - left,
		   MSG_DONTWAIT);
	if (got > 0)
		socket->in_len += (uint32_t)got;
	return got;
}

/* 1: something came. */
static int gt_tcp_receive(struct gt_link *link, struct gt_tcp_socket *socket)
{
	ssize_t got;
	int n = 0;

	for (; n < GT_TCP_BURST; n++) {
		got = gt_tcp_read(socket);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0 || !gt_tcp_parse(link, socket)) {
			gt_tcp_break(link, socket);
			return 1;
		}
	}
	return n > 0;
}

/* One round over all sockets; 0 when nothing could be done. */
static int gt_tcp_round(struct gt_link *link)
{
	uint32_t n = link->nprocesses * link->per_peer;
	int busy = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct gt_tcp_socket *socket = link->sockets[i];

		if (socket && socket->fd >= 0)
			busy |= gt_tcp_receive(link, socket);
		if (socket && socket->fd >= 0)
			busy |= gt_tcp_send(link, socket);
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

/* Until a socket or a rank has something; `seen` is from before the round. */
static void gt_tcp_sleep(struct gt_link *link, struct pollfd *polls,
			 uint32_t seen)
{
	uint32_t total = link->nprocesses * link->per_peer, n = 0;
	uint64_t calls;

	polls[n++] = (struct pollfd){.fd = link->wake_fd, .events = POLLIN};
	/* Ranks that attend look after sockets and bell. */
	if (atomic_load(&link->attended)) {
		poll(polls, n, GT_TCP_NAP_MS);
		total = 0;
	}
	for (uint32_t i = 0; i < total; i++) {
		const struct gt_tcp_socket *socket = link->sockets[i];

		if (!socket || socket->fd < 0)
			continue;
		polls[n] = (struct pollfd){.fd = socket->fd, .events = POLLIN};
		if (socket->head_left || socket->body_left)
			polls[n].events |= POLLOUT;
		n++;
	}
	atomic_store(&link->bell.asleep, total > 0);
	if (total && gt_bell_look(&link->bell) == seen)
		poll(polls, n, GT_TCP_NAP_MS);
	atomic_store(&link->bell.asleep, 0);
	if (read(link->wake_fd, &calls, sizeof(calls)) < 0)
		return; /* nobody rang */
}

/* Half a credit on the wire would garble what comes behind it. */
static void gt_tcp_finish(struct gt_tcp_socket *socket)
{
	struct pollfd wait = {.fd = socket->fd, .events = POLLOUT};

	while (socket->fd >= 0 && socket->head_left &&
	       socket->head_left < sizeof(socket->head) &&
	       gt_tcp_push(socket) >= 0 && socket->head_left)
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
