/*
 * Open files go over datagram sockets as ancillary data (SCM_RIGHTS).  The
 * job's processes tell each other where, and a secret, so that nobody else can
 * put files in.
 */
#include "exec/link/fd_passing.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/world.h"

/*
 * The address at which a process takes files.  All tell it in a meeting that
 * only the job's processes hear.
 */
struct gt_fd_exchange_place {
	struct sockaddr_un address;
	socklen_t len;
	uint64_t secret; /* who knows it is of the job */
};

/* The data of a datagram, beside its files. */
struct gt_fd_packet_head {
	uint64_t secret;
	uint32_t tag, n;
	uint64_t words[GT_FD_PACKET_MAX];
};

union gt_fd_packet_room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(GT_FD_PACKET_MAX * sizeof(int))];
};

static int gt_fd_exchange_fail(const char *what, struct gt_err *err)
{
	return gt_err_set(err, GT_ESYS, NULL,
			  "cannot %s to other processes: %s", what,
			  strerror(errno));
}

static int gt_fd_exchange_open(struct gt_fd_exchange_place *place, int *fd,
			       struct gt_err *err)
{
	memset(place, 0, sizeof(*place));
	place->address.sun_family = AF_UNIX;
	place->len = sizeof(place->address);
	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The kernel chooses a name that is no file if there is none. */
	if (*fd < 0 ||
	    bind(*fd, (struct sockaddr *)&place->address,
		 sizeof(sa_family_t)) ||
	    getsockname(*fd, (struct sockaddr *)&place->address, &place->len) ||
	    getrandom(&place->secret, sizeof(place->secret), 0) !=
		    sizeof(place->secret))
		return gt_fd_exchange_fail("open a socket", err);
	return GT_OK;
}

/* Send a packet. 1: it is sent; 0: it cannot be sent now. */
static int gt_fd_packet_send(int fd, const struct gt_fd_exchange_place *to,
			     const struct gt_fd_packet *pass,
			     struct gt_err *err)
{
	struct gt_fd_packet_head head = {
		.secret = to->secret, .tag = pass->tag, .n = pass->n};
	struct sockaddr_un address = to->address;
	struct iovec data = {&head, sizeof(head)};
	union gt_fd_packet_room room = {.bytes = {0}};
	struct msghdr message = {.msg_name = &address,
				 .msg_namelen = to->len,
				 .msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen =
					 CMSG_SPACE(pass->n * sizeof(int))};
	struct cmsghdr *files = CMSG_FIRSTHDR(&message);

	memcpy(head.words, pass->words, sizeof(head.words));
	files->cmsg_level = SOL_SOCKET;
	files->cmsg_type = SCM_RIGHTS;
	files->cmsg_len = CMSG_LEN(pass->n * sizeof(int));
	memcpy(CMSG_DATA(files), pass->fds, pass->n * sizeof(int));
	if (sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
		return 1;
	if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS ||
	    errno == ETOOMANYREFS)
		return 0;
	return gt_fd_exchange_fail("hand files", err);
}

void gt_fd_packet_close(struct gt_fd_packet *pass)
{
	for (uint32_t i = 0; i < pass->n; i++)
		close(pass->fds[i]);
	pass->n = 0;
}

/*
 * Take a packet. 1: there was one; 0: there is none, or it is not from this
 * job.
 */
static int gt_fd_packet_take(int fd, uint64_t secret, struct gt_fd_packet *pass)
{
	struct gt_fd_packet_head head;
	struct iovec data = {&head, sizeof(head)};
	union gt_fd_packet_room room;
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};
	ssize_t len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *files = len < 0 ? NULL : CMSG_FIRSTHDR(&message);

	pass->n = 0;
	if (!files || files->cmsg_level != SOL_SOCKET ||
	    files->cmsg_type != SCM_RIGHTS)
		return 0;
	pass->n = (uint32_t)((files->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(pass->fds, CMSG_DATA(files), pass->n * sizeof(int));
	if (len != sizeof(head) || head.secret != secret || head.n != pass->n) {
		gt_fd_packet_close(pass);
		return 0;
	}
	pass->tag = head.tag;
	memcpy(pass->words, head.words, sizeof(pass->words));
	return 1;
}

/* An exchange that is under way. */
struct gt_fd_exchange_run {
	const struct gt_fd_exchange *swap;
	int fd;
	struct gt_fd_exchange_place *places; /* [processes] */
	uint32_t size, self;
	uint32_t sent, taken; /* sent: to each process, one after the other */
};

/* Send everything to everybody, as far as that goes now. */
static int gt_fd_exchange_give(struct gt_fd_exchange_run *run,
			       struct gt_err *err)
{
	const struct gt_fd_exchange *swap = run->swap;

	for (; run->sent < swap->nmine * run->size; run->sent++) {
		uint32_t p = run->sent % run->size;
		int rc = p == run->self || (swap->with && !swap->with[p])
				 ? 1
				 : gt_fd_packet_send(
					   run->fd, &run->places[p],
					   &swap->mine[run->sent / run->size],
					   err);

		if (rc <= 0)
			return rc;
	}
	return GT_OK;
}

static int gt_fd_exchange_run(struct gt_fd_exchange_run *run,
			      struct gt_err *err)
{
	const struct gt_fd_exchange *swap = run->swap;
	int64_t limit = gt_clock_ns() + gt_world_timeout_ns(swap->world);
	int rc = GT_OK;

	while (!rc && (run->sent < swap->nmine * run->size ||
		       run->taken < swap->ntheirs)) {
		rc = gt_fd_exchange_give(run, err);
		while (!rc && run->taken < swap->ntheirs &&
		       gt_fd_packet_take(run->fd, run->places[run->self].secret,
					 &swap->theirs[run->taken]))
			run->taken++;
		if (!rc)
			rc = gt_world_failed(swap->world, err);
		if (!rc && gt_clock_ns() > limit)
			rc = gt_err_set(err, GT_ESYS, NULL,
					"files do not come from other "
					"processes");
		sched_yield();
	}
	while (rc && run->taken)
		gt_fd_packet_close(&swap->theirs[--run->taken]);
	return rc;
}

/* Tell where this process takes files, and hear where the others do. */
static int gt_fd_exchange_meet(struct gt_fd_exchange_run *run,
			       struct gt_err *err)
{
	struct gt_world *world = run->swap->world;
	struct gt_world_part *parts = calloc(run->size, sizeof(*parts));
	struct gt_fd_exchange_place own;
	int rc = parts ? gt_fd_exchange_open(&own, &run->fd, err)
		       : gt_err_nomem(err);

	if (!rc)
		rc = gt_world_allgather(world, &own, sizeof(own), parts, err);
	for (uint32_t p = 0; !rc && p < run->size; p++) {
		if (parts[p].len == sizeof(own))
			memcpy(&run->places[p], parts[p].bytes, sizeof(own));
		if (parts[p].len != sizeof(own) ||
		    run->places[p].len > sizeof(own.address))
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s is at another meeting",
					gt_world_name(world, p));
	}
	free(parts);
	return rc;
}

int gt_fd_exchange(const struct gt_fd_exchange *swap, struct gt_err *err)
{
	struct gt_fd_exchange_run run = {.swap = swap,
					 .fd = -1,
					 .size = gt_world_size(swap->world),
					 .self = gt_world_rank(swap->world)};
	int rc;

	run.places = calloc(run.size, sizeof(*run.places));
	rc = run.places ? gt_fd_exchange_meet(&run, err) : gt_err_nomem(err);
	if (!rc)
		rc = gt_fd_exchange_run(&run, err);
	if (run.fd >= 0)
		close(run.fd);
	free(run.places);
	return rc;
}
