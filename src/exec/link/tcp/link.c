/*
 * The TCP link: processes find each other, connect sockets and make the FIFOs
 * that its proxy carries.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/link/proxied_fifo.h"
#include "exec/link/tcp/tcp.h"
#include "world/world.h"

/* Connections are made within this time, or the job is over anyway. */
static const int64_t gt_tcp_limit_ns = 30000000000;

static void gt_tcp_forget_fifos(struct gt_tcp_link *link)
{
	for (uint32_t i = 0; i < link->nsockets; i++) {
		link->sockets[i]->nout = 0;
		link->sockets[i]->piece = 0;
	}
	for (uint32_t p = 0; link->peers && p < link->nprocesses; p++) {
		free(link->peers[p].fifos);
		link->peers[p].fifos = NULL;
		link->peers[p].nfifos = 0;
	}
	free(link->slots);
	link->slots = NULL;
	gt_proxied_link_forget(&link->base);
}

static void gt_tcp_close(struct gt_exec_link *self)
{
	struct gt_tcp_link *link = (struct gt_tcp_link *)self;

	if (!link)
		return;
	gt_proxied_link_stop(&link->base);
	for (uint32_t i = 0; i < link->nsockets; i++)
		if (link->sockets[i]->fd >= 0)
			close(link->sockets[i]->fd);
	gt_tcp_forget_fifos(link);
	for (uint32_t i = 0; i < link->nsockets; i++)
		free(link->sockets[i]);
	gt_listener_close(&link->listener);
	free(link->sockets);
	free(link->base.polls);
	free(link->peers);
	free(link->parts);
	gt_proxied_link_free(&link->base);
}

static int gt_tcp_greet(struct gt_tcp_link *link,
			const struct gt_tcp_offer *own, struct gt_err *err)
{
	struct gt_world *world = link->base.config.world;
	struct gt_tcp_offer other;
	struct gt_tcp_peer *peer;
	int rc = gt_world_allgather(world, own, sizeof(*own), link->parts, err);

	for (uint32_t p = 0; !rc && p < link->nprocesses; p++) {
		peer = &link->peers[p];
		if (link->parts[p].len == sizeof(other))
			memcpy(&other, link->parts[p].bytes, sizeof(other));
		if (link->parts[p].len != sizeof(other) ||
		    other.wanted > GT_TCP_SOCKETS_MAX || !other.usual ||
		    other.usual > GT_TCP_SOCKETS_MAX ||
		    other.address.len > sizeof(other.address.storage))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is another version",
					  gt_world_name(world, p));
		peer->process = p;
		peer->address = other.address;
		peer->is_here = gt_net_is_same(&own->address, &other.address);
		peer->nsockets =
			gt_tcp_nsockets(own, &other, link->base.config.streams);
	}
	return rc;
}

/* Find out where this process can be reached, and by how many sockets. */
static int gt_tcp_look(struct gt_tcp_link *link, struct gt_tcp_offer *own,
		       struct gt_err *err)
{
	int rc = gt_net_local(link->base.config.iface, &own->address, err);

	if (rc)
		return rc;
	gt_net_device(&own->address, link->device);
	return gt_tcp_offer_read(link->device, own, err);
}

/* Listen, and tell all processes where. */
static int gt_tcp_announce(struct gt_tcp_link *link, struct gt_err *err)
{
	struct gt_world *world = link->base.config.world;
	struct gt_tcp_offer own;
	int fd, rc;

	memset(&own, 0, sizeof(own));
	rc = gt_world_agree(world, gt_tcp_look(link, &own, err), err);
	if (!rc)
		rc = gt_net_listen(&own.address, &fd, err);
	if (rc)
		return rc;
	gt_listener_init(&link->listener, fd, gt_world_secret(world));
	return gt_tcp_greet(link, &own, err);
}

static int gt_tcp_open(const struct gt_link_config *config,
		       struct gt_exec_link **out, struct gt_err *err)
{
	struct gt_tcp_link *link =
		gt_proxied_link_new(sizeof(*link), &gt_tcp_proxy, config);
	size_t most;
	int rc;

	if (!link)
		return gt_err_nomem(err);
	link->nprocesses = gt_world_size(config->world);
	most = (size_t)link->nprocesses * GT_TCP_SOCKETS_MAX;
	link->listener.fd = -1;
	link->parts = calloc(link->nprocesses, sizeof(*link->parts));
	link->peers = calloc(link->nprocesses, sizeof(*link->peers));
	link->sockets = calloc(most, sizeof(struct gt_tcp_socket *));
	link->base.polls = calloc(most + 1, sizeof(*link->base.polls));
	if (!link->parts || !link->peers || !link->sockets || !link->base.polls)
		rc = gt_err_nomem(err);
	else
		rc = gt_tcp_announce(link, err);
	if (rc)
		gt_tcp_close((struct gt_exec_link *)link);
	else
		*out = (struct gt_exec_link *)link;
	return rc;
}

/* Set up a socket that has been connected; takes fd; 0 when memory ran out. */
static int gt_tcp_keep(struct gt_tcp_link *link, struct gt_tcp_peer *peer,
		       uint32_t index, int fd)
{
	struct gt_tcp_socket *socket = calloc(1, sizeof(*socket));

	if (!socket) {
		close(fd);
		return 0;
	}
	/*
	 * The timeout comes after the verdict on a process that is silent and
	 * before the one on ranks that wait: the socket knows who does not
	 * answer.
	 */
	gt_net_set_ack_timeout(
		fd, gt_world_timeout_ns(link->base.config.world) / 8 * 7);
	/* Bytes that a slow socket has not sent yet could go by another one. */
	if (peer->nsockets > 1)
		gt_net_set_unsent_limit(fd, GT_TCP_UNSENT_BYTES);
	if (peer->is_here)
		gt_net_set_local(fd);
	socket->fd = fd;
	socket->peer = peer;
	socket->index = index;
	peer->sockets[index] = socket;
	link->sockets[link->nsockets++] = socket;
	return 1;
}

/* Keep a connection that another process has made to this one. */
static void gt_tcp_enter(void *arg, struct gt_wire *wire,
			 const struct gt_auth_answer *answer)
{
	struct gt_tcp_link *link = arg;
	struct gt_tcp_peer *peer = NULL;
	int fd = wire->fd;

	wire->fd = -1;
	gt_wire_close(wire);
	if (answer->kind == GT_CONNECTION_DATA &&
	    answer->size == link->nprocesses && answer->rank < link->nprocesses)
		peer = &link->peers[answer->rank];
	if (peer && answer->index < peer->nsockets &&
	    !peer->sockets[answer->index])
		gt_tcp_keep(link, peer, answer->index, fd);
	else
		close(fd);
}

static int64_t gt_tcp_deadline_ns(const struct gt_tcp_link *link)
{
	int64_t limit_ns = gt_world_timeout_ns(link->base.config.world);

	return gt_clock_ns() +
	       (limit_ns < gt_tcp_limit_ns ? limit_ns : gt_tcp_limit_ns);
}

/* Connect to a process of a lower number, unless the job ends meanwhile. */
static int gt_tcp_knock(struct gt_tcp_link *link, struct gt_tcp_peer *peer,
			uint32_t index, struct gt_err *err)
{
	struct gt_world *world = link->base.config.world;
	struct gt_auth_answer answer = {
		.kind = GT_CONNECTION_DATA,
		.rank = gt_world_rank(world),
		.size = link->nprocesses,
		.index = index,
	};
	const struct gt_net_deadline deadline = {gt_tcp_deadline_ns(link),
						 gt_world_end_flag(world), 0};
	struct gt_err why;
	int fd, rc;

	gt_err_init(&why);
	rc = gt_listener_connect(&peer->address, gt_world_secret(world),
				 &answer, &deadline, &fd, &why);
	if (rc && !gt_world_failed(world, err))
		return gt_err_set(err, rc, NULL, "%s", why.text);
	if (rc)
		return rc;
	return gt_tcp_keep(link, peer, index, fd) ? GT_OK : gt_err_nomem(err);
}

/* Wait until a process of a higher number has connected. */
static int gt_tcp_await(struct gt_tcp_link *link,
			const struct gt_tcp_peer *peer, uint32_t index,
			struct gt_err *err)
{
	struct gt_world *world = link->base.config.world;
	struct pollfd polls[GT_LISTENER_PENDING_MAX + 1];
	int64_t deadline_ns = gt_tcp_deadline_ns(link);
	int rc = GT_OK;

	while (!rc && !peer->sockets[index]) {
		poll(polls, gt_listener_polls(&link->listener, polls), 20);
		gt_listener_serve(&link->listener, gt_tcp_enter, link);
		rc = gt_world_failed(world, err);
		if (!rc && !peer->sockets[index] && gt_clock_ns() > deadline_ns)
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s does not connect for data",
					gt_world_name(world, peer->process));
	}
	return rc;
}

/*
 * Make the sockets that these connections need.  Every process first connects
 * to lower numbers, in order, while those wait in order too, so that no circle
 * of processes waits for itself.
 */
static int gt_tcp_dial(struct gt_tcp_link *link,
		       const struct gt_link_conn *conns, uint32_t nconns,
		       struct gt_err *err)
{
	uint32_t self = gt_world_rank(link->base.config.world);
	int rc = GT_OK;

	for (int turn = 0; turn < 2; turn++)
		for (uint32_t c = 0; c < nconns; c++) {
			struct gt_tcp_peer *peer =
				&link->peers[conns[c].process];

			for (uint32_t i = 0; !rc && i < peer->nsockets; i++) {
				if (peer->sockets[i])
					continue;
				if (!turn && peer->process < self)
					rc = gt_tcp_knock(link, peer, i, err);
				else if (turn)
					rc = gt_tcp_await(link, peer, i, err);
			}
		}
	return rc;
}

/* Make the FIFO number i of all, between the local rank and the proxy. */
static void gt_tcp_make(struct gt_tcp_link *link,
			const struct gt_link_conn *conn, uint32_t i)
{
	struct gt_proxied_link *base = &link->base;
	struct gt_tcp_peer *peer = &link->peers[conn->process];
	struct gt_fifo_end end = gt_proxied_fifo_make(
		&base->shape, conn,
		base->memory + i * gt_proxied_fifo_bytes(&base->shape),
		&base->bell, gt_proxied_link_bell(base, conn));

	peer->fifos[peer->nfifos++] = (struct gt_tcp_fifo){
		.counters = end.fifo,
		.end = end,
		.sends = conn->sends,
		.slots = link->slots + (size_t)i * base->shape.nslots};
}

static int gt_tcp_fill(struct gt_tcp_link *link,
		       const struct gt_link_conn *conns, uint32_t nconns,
		       struct gt_err *err)
{
	struct gt_tcp_peer *peer;

	if (gt_proxied_link_alloc(
		    &link->base,
		    nconns * gt_proxied_fifo_bytes(&link->base.shape), err))
		return GT_ESYS;
	link->slots = calloc((size_t)nconns * link->base.shape.nslots + 1,
			     sizeof(*link->slots));
	if (!link->slots)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < nconns; i++)
		link->peers[conns[i].process].nfifos++;
	for (uint32_t p = 0; p < link->nprocesses; p++) {
		peer = &link->peers[p];
		peer->fifos = calloc(peer->nfifos + 1, sizeof(*peer->fifos));
		if (!peer->fifos)
			return gt_err_nomem(err);
		peer->nfifos = 0;
	}
	for (uint32_t i = 0; i < nconns; i++)
		gt_tcp_make(link, &conns[i], i);
	return GT_OK;
}

static int gt_tcp_connect(struct gt_exec_link *self,
			  const struct gt_link_shape *shape,
			  const struct gt_link_conn *conns, uint32_t nconns,
			  struct gt_err *err)
{
	struct gt_tcp_link *link = (struct gt_tcp_link *)self;
	struct gt_link_conn *sorted = gt_proxied_fifo_sort(conns, nconns);
	int rc = GT_OK;

	if (!sorted)
		return gt_err_nomem(err);
	gt_proxied_link_stop(&link->base);
	for (uint32_t i = 0; i < link->nsockets; i++)
		gt_tcp_finish(link->sockets[i]);
	gt_tcp_forget_fifos(link);
	link->base.shape = *shape;
	link->generation++;
	rc = gt_tcp_dial(link, sorted, nconns, err);
	if (!rc)
		rc = gt_tcp_fill(link, sorted, nconns, err);
	free(sorted);
	/*
	 * Nobody sends before all processes know where slices of this
	 * generation go.
	 */
	if (!rc)
		rc = gt_world_allgather(link->base.config.world, NULL, 0, NULL,
					err);
	return rc ? rc : gt_proxied_link_start(&link->base, link->device, err);
}

static int gt_tcp_check(struct gt_exec_link *self, struct gt_err *err)
{
	struct gt_tcp_link *link = (struct gt_tcp_link *)self;
	uint32_t broken = atomic_load(&link->broken);

	if (!broken)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL, "the connection to %s broke",
			  gt_world_name(link->base.config.world, broken - 1));
}

const struct gt_link_ops gt_link_tcp = {
	.name = "tcp",
	.open = gt_tcp_open,
	.close = gt_tcp_close,
	.connect = gt_tcp_connect,
	.check = gt_tcp_check,
	.attend = gt_proxied_link_attend,
	.progress = gt_proxied_link_progress,
};
