/* The thread that carries slices and credits between slots and sockets. */
#include <poll.h>
#include <unistd.h>

#include "exec/link/tcp/tcp.h"

enum {
	GT_TCP_NAP_MS = 20,
	GT_TCP_SPINS = 50, /* empty rounds before it sleeps */
};

/* 0 when nothing could be done there. */
static int gt_tcp_visit(struct gt_link *link, struct gt_tcp_socket *socket)
{
	int sent = gt_tcp_send(link, socket), received = -1;

	if (sent >= 0)
		received = gt_tcp_receive(link, socket);
	if (received < 0) {
		atomic_store(&link->broken, socket->peer->process + 1);
		close(socket->fd);
		socket->fd = -1;
	}
	return sent || received;
}

/* One round over all sockets; 0 when nothing could be done. */
static int gt_tcp_round(struct gt_link *link)
{
	int busy = 0;

	for (uint32_t i = 0; i < link->nsockets; i++)
		if (link->sockets[i]->fd >= 0)
			busy |= gt_tcp_visit(link, link->sockets[i]);
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
	uint32_t n = 0;

	if (atomic_exchange_explicit(&link->busy, 1, memory_order_acquire))
		return 0;
	polls[n++] = (struct pollfd){.fd = link->wake_fd, .events = POLLIN};
	for (uint32_t i = 0; i < link->nsockets; i++) {
		const struct gt_tcp_socket *socket = link->sockets[i];

		if (socket->fd < 0)
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
static void gt_tcp_sleep(struct gt_link *link, uint32_t seen)
{
	struct pollfd wake = {.fd = link->wake_fd, .events = POLLIN};
	uint64_t calls;
	uint32_t n;

	/* Ranks that attend look after sockets and bell. */
	if (atomic_load(&link->attended)) {
		poll(&wake, 1, GT_TCP_NAP_MS);
	} else {
		n = gt_tcp_polls(link, link->polls);
		atomic_store(&link->bell.asleep, 1);
		if (n && gt_bell_look(&link->bell) == seen)
			poll(link->polls, n, GT_TCP_NAP_MS);
		atomic_store(&link->bell.asleep, 0);
	}
	if (read(link->wake_fd, &calls, sizeof(calls)) < 0)
		return; /* nobody rang */
}

void *gt_tcp_main(void *arg)
{
	struct gt_link *link = arg;
	uint32_t seen, idle = 0;

	while (!atomic_load_explicit(&link->stop, memory_order_relaxed)) {
		seen = gt_bell_look(&link->bell);
		idle = gt_tcp_carry(link) ? 0 : idle + 1;
		if (idle > GT_TCP_SPINS || atomic_load(&link->attended))
			gt_tcp_sleep(link, seen);
	}
	return NULL;
}
