/* Files of the simulated system: TCP sockets and eventfds (sim.h). */
#include "sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIM_ROOM_BYTES = 16 << 10, /* of a connection, each way */
	SIM_LATENCY_NS = 300000,
	SIM_SLOW_NS = 30000000,  /* a packet that was lost, now and then */
	SIM_SYN_NS = 1000000000, /* until a first packet is sent again */
	SIM_FIRST_PORT = 20000,
	SIM_PORTS = 512,
	SIM_NO_FILE = -1,
	SIM_DARK_FILE = -2, /* what is sent there is never acknowledged */
};

enum sim_kind {
	SIM_CLOSED,
	SIM_SOCKET,
	SIM_LISTENER,
	SIM_STREAM,
	SIM_EVENT,
	SIM_ALIAS, /* another number of a file: of `peer` */
};

/* Bytes on their way to a stream, or a connection on its way to a listener. */
struct sim_segment {
	struct sim_segment *next;
	int64_t at_ns;
	size_t len, taken;
	int file;
	char bytes[];
};

struct sim_file {
	enum sim_kind kind;
	uint32_t process, host, peer_host;
	int is_accepted;
	int port, peer, error;
	struct sim_segment *first, **last;
	size_t queued; /* bytes that wait here, or were sent into the dark */
	int64_t last_ns, connected_ns, fin_ns, reset_ns, full_until_ns;
	int has_shut, has_told_reset;
	int aliases, is_dropped; /* its own number was closed */
	uint64_t count;
};

static struct sim_file sim_files[SIM_FDS];
static struct {
	uint32_t owners[SIM_PORTS]; /* processes, of ports that were free */
	int nports;
	int loses; /* first packets of connections, and of whom the last */
	int has_lost[SIM_PROCESSES];
	int64_t cuts[SIM_PROCESSES][SIM_PROCESSES]; /* between hosts: until */
} sim_net;

static struct sim_file *sim_file(int fd)
{
	struct sim_file *file = &sim_files[fd - SIM_FIRST_FD];

	return file->kind == SIM_ALIAS ? &sim_files[file->peer] : file;
}

static int sim_fail(int error)
{
	errno = error;
	return -1;
}

int sim_is_fd(int fd)
{
	return fd >= SIM_FIRST_FD && fd < SIM_FIRST_FD + SIM_FDS;
}

static void sim_drop_segments(struct sim_file *file)
{
	struct sim_segment *next;

	for (; file->first; file->first = next) {
		next = file->first->next;
		free(file->first);
	}
	file->last = &file->first;
	file->queued = 0;
}

void sim_net_begin(void)
{
	for (int i = 0; i < SIM_FDS; i++)
		if (sim_files[i].kind)
			sim_drop_segments(&sim_files[i]);
	memset(sim_files, 0, sizeof(sim_files));
	memset(&sim_net, 0, sizeof(sim_net));
}

void sim_cut(uint32_t a, uint32_t b, int64_t until_ns)
{
	sim_net.cuts[a][b] = sim_net.cuts[b][a] = until_ns;
}

void sim_lose_first_packets(void)
{
	sim_net.loses = 1;
}

/* Has the process that runs no files left? */
static int sim_lacks_files(void)
{
	return sim_process_of(sim_self())->no_files_until_ns > sim_now_ns();
}

static int sim_open(enum sim_kind kind, uint32_t process)
{
	int i = 0;

	while (i < SIM_FDS && sim_files[i].kind)
		i++;
	if (i == SIM_FDS)
		return sim_fail(EMFILE);
	sim_files[i] = (struct sim_file){.kind = kind,
					 .process = process,
					 .host = sim_process_of(process)->host,
					 .is_accepted = 1,
					 .peer = SIM_NO_FILE,
					 .connected_ns = SIM_NEVER,
					 .fin_ns = SIM_NEVER,
					 .reset_ns = SIM_NEVER};
	sim_files[i].last = &sim_files[i].first;
	return SIM_FIRST_FD + i;
}

static int64_t sim_later(int64_t a, int64_t b)
{
	return a < b ? b : a;
}

/* When a packet arrives that would do so at a time if nothing was clogged. */
static int64_t sim_unclogged_ns(uint32_t from, uint32_t to, int64_t at_ns)
{
	const struct sim_process *a = sim_process_of(from);
	const struct sim_process *b = sim_process_of(to);

	at_ns = sim_later(at_ns, a->clogged_until_ns);
	at_ns = sim_later(at_ns, b->clogged_until_ns);
	return sim_later(at_ns, sim_net.cuts[a->host][b->host]);
}

/* When what this process sends now arrives: mostly soon, at times late. */
static int64_t sim_arrival_ns(const struct sim_file *from,
			      const struct sim_file *to)
{
	int64_t at_ns =
		sim_now_ns() +
		(int64_t)sim_draw(sim_draw(20) ? SIM_LATENCY_NS : SIM_SLOW_NS);

	return sim_unclogged_ns(from->process, to->process, at_ns);
}

static struct sim_segment *sim_new_segment(size_t len)
{
	struct sim_segment *segment = calloc(1, sizeof(*segment) + len);

	if (!segment)
		abort();
	segment->len = len;
	return segment;
}

static void sim_queue_bytes(struct sim_file *to, int64_t at_ns,
			    const void *bytes, size_t len)
{
	struct sim_segment *segment = sim_new_segment(len);

	memcpy(segment->bytes, bytes, len);
	segment->at_ns = at_ns > to->last_ns ? at_ns : to->last_ns;
	to->last_ns = segment->at_ns;
	*to->last = segment;
	to->last = &segment->next;
	to->queued += len;
}

/* Connections do not wait for each other. */
static void sim_queue_connection(struct sim_file *listener, int64_t at_ns,
				 int file)
{
	struct sim_segment *segment = sim_new_segment(0);
	struct sim_segment **at = &listener->first;

	segment->at_ns = at_ns;
	segment->file = file;
	while (*at && (*at)->at_ns <= at_ns)
		at = &(*at)->next;
	segment->next = *at;
	*at = segment;
	if (!segment->next)
		listener->last = &segment->next;
}

static void sim_unqueue(struct sim_file *file)
{
	struct sim_segment *first = file->first;

	file->first = first->next;
	if (!file->first)
		file->last = &file->first;
	free(first);
}

/* A broken connection has lost what was on its way, from some byte on. */
static void sim_lose(struct sim_file *file)
{
	struct sim_segment **at = &file->first;

	while (*at && ((*at)->at_ns <= sim_now_ns() || sim_draw(2)))
		at = &(*at)->next;
	for (struct sim_segment *lost = *at, *next; lost; lost = next) {
		next = lost->next;
		file->queued -= lost->len;
		free(lost);
	}
	*at = NULL;
	file->last = at;
}

static void sim_break(struct sim_file *file, int64_t at_ns)
{
	sim_lose(file);
	if (at_ns < file->reset_ns)
		file->reset_ns = at_ns;
	file->peer = SIM_NO_FILE;
}

static void sim_close_file(struct sim_file *file);

static void sim_refuse_pending(struct sim_file *listener)
{
	for (struct sim_segment *at = listener->first; at; at = at->next)
		sim_close_file(&sim_files[at->file]);
}

static void sim_close_file(struct sim_file *file)
{
	struct sim_file *peer = file->peer >= 0 ? &sim_files[file->peer] : NULL;

	if (file->kind == SIM_LISTENER)
		sim_refuse_pending(file);
	if (peer && (file->first || !file->is_accepted)) {
		sim_break(peer, sim_arrival_ns(file, peer));
	} else if (peer) {
		int64_t at_ns = sim_arrival_ns(file, peer);

		if (!file->has_shut)
			peer->fin_ns =
				at_ns > peer->last_ns ? at_ns : peer->last_ns;
		peer->peer = SIM_NO_FILE;
	}
	sim_drop_segments(file);
	file->kind = SIM_CLOSED;
}

void sim_net_end_of(uint32_t process, enum sim_end how)
{
	for (int i = 0; i < SIM_FDS; i++) {
		struct sim_file *file = &sim_files[i];

		if (!file->kind || file->process != process)
			continue;
		if (file->kind == SIM_ALIAS) {
			file->kind = SIM_CLOSED;
			continue;
		}
		if (how == SIM_DARK && file->peer >= 0)
			sim_files[file->peer].peer = SIM_DARK_FILE;
		if (how == SIM_DARK)
			file->peer = SIM_NO_FILE;
		sim_close_file(file);
	}
}

uint32_t sim_net_open(uint32_t process)
{
	uint32_t n = 0;

	for (int i = 0; i < SIM_FDS; i++)
		n += sim_files[i].kind && sim_files[i].process == process &&
		     sim_files[i].is_accepted && !sim_files[i].is_dropped;
	return n;
}

int sim_net_reset(uint32_t process)
{
	int n = 0, pick = -1;

	for (int i = 0; i < SIM_FDS; i++)
		if (sim_files[i].kind == SIM_STREAM &&
		    sim_files[i].process == process && sim_files[i].peer >= 0 &&
		    !sim_draw((uint64_t)++n))
			pick = i;
	if (pick < 0)
		return 0;
	sim_break(&sim_files[sim_files[pick].peer], sim_now_ns());
	sim_break(&sim_files[pick], sim_now_ns());
	return 1;
}

static int64_t sim_sooner(int64_t next_ns, int64_t at_ns)
{
	return at_ns > sim_now_ns() && at_ns < next_ns ? at_ns : next_ns;
}

int64_t sim_net_next_ns(void)
{
	int64_t next_ns = SIM_NEVER;

	for (int i = 0; i < SIM_FDS; i++) {
		const struct sim_file *file = &sim_files[i];

		if (!file->kind)
			continue;
		if (file->first)
			next_ns = sim_sooner(next_ns, file->first->at_ns);
		next_ns = sim_sooner(next_ns, file->connected_ns);
		next_ns = sim_sooner(next_ns, file->fin_ns);
		next_ns = sim_sooner(next_ns, file->reset_ns);
		if (file->full_until_ns > sim_now_ns())
			next_ns = sim_sooner(next_ns, file->full_until_ns);
	}
	return next_ns;
}

int sim_socket(int family)
{
	if (family != AF_INET)
		return sim_fail(EAFNOSUPPORT);
	return sim_lacks_files() ? sim_fail(EMFILE)
				 : sim_open(SIM_SOCKET, sim_self());
}

int sim_eventfd(void)
{
	return sim_lacks_files() ? sim_fail(EMFILE)
				 : sim_open(SIM_EVENT, sim_self());
}

int sim_dup(int fd)
{
	struct sim_file *file = sim_file(fd);
	int other = sim_lacks_files() ? sim_fail(EMFILE)
				      : sim_open(SIM_ALIAS, sim_self());

	if (other < 0)
		return other;
	sim_files[other - SIM_FIRST_FD].peer = (int)(file - sim_files);
	file->aliases++;
	return other;
}

static int sim_port(const struct sockaddr *name)
{
	return ntohs(
		((const struct sockaddr_in *)(const void *)name)->sin_port);
}

int sim_bind(int fd, const struct sockaddr *name, socklen_t len)
{
	int port = sim_port(name);

	(void)len;
	if (!port && sim_net.nports == SIM_PORTS)
		return sim_fail(EADDRINUSE);
	if (!port) {
		sim_net.owners[sim_net.nports] = sim_self();
		port = SIM_FIRST_PORT + sim_net.nports++;
	}
	sim_file(fd)->port = port;
	return 0;
}

int sim_port_of(uint32_t process)
{
	for (int i = sim_net.nports; i-- > 0;)
		if (sim_net.owners[i] == process)
			return SIM_FIRST_PORT + i;
	return -1;
}

/* The process whose port it is or was; others are process 0's. */
static uint32_t sim_owner(int port)
{
	int i = port - SIM_FIRST_PORT;

	return i >= 0 && i < sim_net.nports ? sim_net.owners[i] : 0;
}

int sim_listen(int fd)
{
	sim_file(fd)->kind = SIM_LISTENER;
	return 0;
}

static struct sim_file *sim_listener(int port)
{
	for (int i = 0; i < SIM_FDS; i++)
		if (sim_files[i].kind == SIM_LISTENER &&
		    sim_files[i].port == port)
			return &sim_files[i];
	return NULL;
}

static void sim_enter(struct sim_file *file, struct sim_file *listener)
{
	int other = sim_open(SIM_STREAM, listener->process);

	if (other < 0) {
		file->error = ECONNREFUSED;
		return;
	}
	file->peer = other - SIM_FIRST_FD;
	file->peer_host = listener->host;
	sim_file(other)->peer = (int)(file - sim_files);
	sim_file(other)->peer_host = file->host;
	sim_file(other)->is_accepted = 0;
	sim_file(other)->port = listener->port;
	sim_file(other)->connected_ns = sim_now_ns();
	sim_queue_connection(listener, file->connected_ns, file->peer);
}

int sim_connect(int fd, const struct sockaddr *name, socklen_t len)
{
	struct sim_file *file = sim_file(fd);
	struct sim_file *listener = sim_listener(sim_port(name));
	uint32_t owner =
		listener ? listener->process : sim_owner(sim_port(name));
	int64_t at_ns = sim_now_ns() + (int64_t)sim_draw(SIM_LATENCY_NS);

	(void)len;
	file->kind = SIM_STREAM;
	/* Of two first packets of a process at most one is lost. */
	sim_net.has_lost[file->process] = sim_net.loses &&
					  !sim_net.has_lost[file->process] &&
					  !sim_draw(50);
	if (sim_net.has_lost[file->process])
		at_ns += SIM_SYN_NS;
	file->connected_ns = sim_unclogged_ns(file->process, owner, at_ns);
	if (listener)
		sim_enter(file, listener);
	else if (sim_process_of(owner)->end == SIM_DARK)
		file->connected_ns = SIM_NEVER;
	else
		file->error = ECONNREFUSED;
	return sim_fail(EINPROGRESS);
}

int sim_accept(int fd)
{
	struct sim_file *listener = sim_file(fd);
	int file;

	if (!listener->first || listener->first->at_ns > sim_now_ns())
		return sim_fail(EAGAIN);
	if (sim_lacks_files())
		return sim_fail(EMFILE);
	file = listener->first->file;
	sim_unqueue(listener);
	sim_files[file].is_accepted = 1;
	return SIM_FIRST_FD + file;
}

static int sim_is_reset(const struct sim_file *file)
{
	return file->reset_ns <= sim_now_ns();
}

static int sim_has_bytes(const struct sim_file *file)
{
	return file->first && file->first->at_ns <= sim_now_ns();
}

static size_t sim_part(size_t most)
{
	return sim_draw(3) ? most : 1 + sim_draw(most);
}

static ssize_t sim_take(struct sim_file *file, void *bytes, size_t len)
{
	struct sim_segment *first = file->first;
	size_t left = first->len - first->taken;

	len = sim_part(len < left ? len : left);
	memcpy(bytes, first->bytes + first->taken, len);
	first->taken += len;
	file->queued -= len;
	if (first->taken == first->len)
		sim_unqueue(file);
	return (ssize_t)len;
}

ssize_t sim_read(int fd, void *bytes, size_t len)
{
	struct sim_file *file = sim_file(fd);

	if (file->kind == SIM_EVENT) {
		if (!file->count)
			return sim_fail(EAGAIN);
		memcpy(bytes, &file->count, sizeof(file->count));
		file->count = 0;
		return sizeof(file->count);
	}
	if (!sim_draw(50))
		return sim_fail(EINTR);
	if (sim_has_bytes(file))
		return sim_take(file, bytes, len);
	if (sim_is_reset(file) && !file->has_told_reset) {
		file->has_told_reset = 1;
		return sim_fail(ECONNRESET);
	}
	return sim_is_reset(file) || file->fin_ns <= sim_now_ns()
		       ? 0
		       : sim_fail(EAGAIN);
}

/* Bytes that the connection takes now. */
static size_t sim_room(const struct sim_file *file)
{
	const struct sim_file *to =
		file->peer >= 0 ? &sim_files[file->peer] : file;

	if (file->full_until_ns > sim_now_ns())
		return 0;
	if (file->peer == SIM_NO_FILE)
		return SIM_ROOM_BYTES;
	return to->queued < SIM_ROOM_BYTES ? SIM_ROOM_BYTES - to->queued : 0;
}

static ssize_t sim_send_stream(struct sim_file *file, const void *bytes,
			       size_t len)
{
	size_t room = sim_room(file);
	struct sim_file *peer = file->peer >= 0 ? &sim_files[file->peer] : NULL;

	if (sim_is_reset(file) || file->has_shut)
		return sim_fail(EPIPE);
	if (!room)
		return sim_fail(EAGAIN);
	len = sim_part(len < room ? len : room);
	if (peer)
		sim_queue_bytes(peer, sim_arrival_ns(file, peer), bytes, len);
	else if (file->peer == SIM_DARK_FILE)
		file->queued += len;          /* in the sender's own buffer */
	else if (file->reset_ns == SIM_NEVER) /* nobody is there any more */
		file->reset_ns = sim_now_ns() + SIM_LATENCY_NS;
	return (ssize_t)len;
}

void sim_fill(int fd, int64_t until_ns)
{
	sim_file(fd)->full_until_ns = until_ns;
}

ssize_t sim_write(int fd, const void *bytes, size_t len)
{
	struct sim_file *file = sim_file(fd);
	uint64_t more;

	if (file->kind == SIM_EVENT) {
		memcpy(&more, bytes, sizeof(more));
		file->count += more;
		return sizeof(more);
	}
	return sim_draw(50) ? sim_send_stream(file, bytes, len)
			    : sim_fail(EINTR);
}

static short sim_ready_stream(const struct sim_file *file)
{
	short ready = 0;

	if (file->connected_ns > sim_now_ns())
		return 0;
	if (file->error)
		return POLLIN | POLLOUT | POLLERR | POLLHUP;
	if (sim_has_bytes(file) || file->fin_ns <= sim_now_ns())
		ready |= POLLIN;
	if (sim_room(file))
		ready |= POLLOUT;
	if (sim_is_reset(file))
		ready |= POLLIN | POLLOUT | POLLERR | POLLHUP;
	return ready;
}

static short sim_ready(int fd)
{
	const struct sim_file *file = sim_file(fd);

	if (file->kind == SIM_EVENT)
		return file->count ? POLLIN | POLLOUT : POLLOUT;
	if (file->kind == SIM_LISTENER)
		return sim_has_bytes(file) ? POLLIN : 0;
	return file->kind == SIM_STREAM ? sim_ready_stream(file) : POLLNVAL;
}

struct sim_polls {
	struct pollfd *polls;
	nfds_t n;
};

static int sim_count_ready(const struct sim_polls *all)
{
	int n = 0;

	for (nfds_t i = 0; i < all->n; i++) {
		struct pollfd *poll = &all->polls[i];

		poll->revents = 0;
		if (sim_is_fd(poll->fd))
			poll->revents = (short)(sim_ready(poll->fd) &
						(poll->events | POLLERR |
						 POLLHUP | POLLNVAL));
		n += poll->revents != 0;
	}
	return n;
}

static int sim_any_ready(const void *arg)
{
	return sim_count_ready(arg) > 0;
}

int sim_poll(struct pollfd *polls, nfds_t n, int timeout_ms)
{
	const struct sim_polls all = {polls, n};
	const struct sim_wait wait = {
		sim_any_ready, &all,
		timeout_ms < 0 ? SIM_NEVER
			       : sim_now_ns() + timeout_ms * 1000000ll};

	sim_wait(&wait);
	return sim_count_ready(&all);
}

int sim_shutdown(int fd)
{
	struct sim_file *file = sim_file(fd);
	struct sim_file *peer = file->peer >= 0 ? &sim_files[file->peer] : NULL;
	int64_t at_ns;

	if (file->has_shut)
		return 0;
	file->has_shut = 1;
	if (!peer)
		return file->peer == SIM_DARK_FILE ? 0 : sim_fail(ENOTCONN);
	at_ns = sim_arrival_ns(file, peer);
	peer->fin_ns = at_ns > peer->last_ns ? at_ns : peer->last_ns;
	return 0;
}

int sim_close(int fd)
{
	struct sim_file *number = &sim_files[fd - SIM_FIRST_FD];
	struct sim_file *file = sim_file(fd);

	if (number == file) {
		file->is_dropped = 1;
	} else {
		number->kind = SIM_CLOSED;
		file->aliases--;
	}
	if (file->is_dropped && !file->aliases)
		sim_close_file(file);
	return 0;
}

int sim_error_of(int fd)
{
	int error = sim_file(fd)->error;

	return error ? error : sim_is_reset(sim_file(fd)) ? ECONNRESET : 0;
}

int sim_name(int fd, int peer, struct sockaddr *name, socklen_t *len)
{
	const struct sim_file *file = sim_file(fd);
	int port = peer && file->peer >= 0 ? sim_files[file->peer].port
					   : file->port;
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port)};

	if (peer && file->peer == SIM_NO_FILE)
		return sim_fail(ENOTCONN);
	four.sin_addr.s_addr =
		htonl(0x0a000001u + (peer ? file->peer_host : file->host));
	memcpy(name, &four, sizeof(four));
	*len = sizeof(four);
	return 0;
}
