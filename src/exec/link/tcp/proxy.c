/* The proxy of a TCP link: it looks after all sockets in turn. */
#include <unistd.h>

#include "exec/link/tcp/tcp.h"

enum {
	GT_TCP_NAP_NS = 20000000,
	GT_TCP_IDLE_ROUNDS = 51,
};

/* Send to a socket and receive from it; 0 when nothing could be done there. */
static int gt_tcp_visit(struct gt_tcp_link *link, struct gt_tcp_socket *socket)
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

static int gt_tcp_round(struct gt_proxied_link *base)
{
	struct gt_tcp_link *link = (struct gt_tcp_link *)base;
	int busy = 0;

	for (uint32_t i = 0; i < link->nsockets; i++)
		if (link->sockets[i]->fd >= 0)
			busy |= gt_tcp_visit(link, link->sockets[i]);
	return busy;
}

/* Wait for all sockets, unless a rank is at them right now. */
static int gt_tcp_arm(struct gt_proxied_link *base, struct pollfd *polls)
{
	struct gt_tcp_link *link = (struct gt_tcp_link *)base;
	int n = 0;

	if (!gt_proxied_link_try(base))
		return -1;
	for (uint32_t i = 0; i < link->nsockets; i++) {
		const struct gt_tcp_socket *socket = link->sockets[i];

		if (socket->fd < 0)
			continue;
		polls[n] = (struct pollfd){.fd = socket->fd, .events = POLLIN};
		if (gt_tcp_is_sending(socket))
			polls[n].events |= POLLOUT;
		n++;
	}
	gt_proxied_link_leave(base);
	return n;
}

const struct gt_proxied_link_ops gt_tcp_proxy = {
	.round = gt_tcp_round,
	.progress = gt_proxied_link_progress,
	.idle_rounds = GT_TCP_IDLE_ROUNDS,
	.nap_ns = GT_TCP_NAP_NS,
	.arm = gt_tcp_arm,
};
