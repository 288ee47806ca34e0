/*
 * Inside the TCP link: what its setup (link_tcp.c) and its proxy thread
 * (tcp_proxy.c) share.  The proxy runs between two connect() calls and owns
 * everything here while it does, together with ranks that attend: whoever has
 * `busy` works, and nobody waits for it.  `stop` and `broken` are all that the
 * setup and they exchange.
 *
 * On a socket go messages: a head, and for data a slice.  Both sides number
 * the FIFOs of a socket alike.  A slice is sent straight from the sender's
 * slot and received straight into the receiver's; the receiver's slot is free
 * because the sender has counted its credits, so nobody ever waits for memory
 * with a message half read, and one slow FIFO holds up no other.
 */
#ifndef GT_EXEC_TCP_H
#define GT_EXEC_TCP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

#include "exec/bell.h"
#include "exec/fifo.h"
#include "exec/link.h"
#include "world/door.h"
#include "world/net.h"

enum gt_tcp_kind {
	GT_TCP_DATA = 1, /* number: bytes of the slice that follows */
	GT_TCP_CREDIT,   /* number: slices consumed since the last one */
};

/* In network order.  An earlier generation's late credits are ignored. */
struct gt_tcp_head {
	uint32_t kind, generation, fifo, number;
};

enum {
	/* Read behind a slice's end, and copied once more if it is a slice. */
	GT_TCP_READ_BYTES = 8 << 10,
	GT_TCP_BATCH = 16, /* messages that go out with one call */
};

/* A FIFO whose other end is behind a socket. */
struct gt_tcp_fifo {
	struct gt_fifo *counters;
	struct gt_fifo_end end; /* the proxy's: it stands for the far rank */
	int sends;              /* the local rank is the sender */
	uint64_t credit;        /* sends: what the far side has consumed */
	uint64_t told;          /* receives: credits passed on */
};

struct gt_tcp_out {
	struct gt_tcp_head head;
	struct gt_tcp_fifo *slice_of; /* NULL: it is a credit */
};

struct gt_tcp_socket {
	int fd;           /* -1: none yet */
	uint32_t process; /* the other side */
	uint32_t nfifos;
	struct gt_tcp_fifo *fifos;
	uint32_t turn; /* the FIFO that is looked at next */

	/* What is being sent: nout messages, of each a head and the slice. */
	struct gt_tcp_out out[GT_TCP_BATCH];
	struct iovec pieces[2 * GT_TCP_BATCH];
	uint32_t nout, piece; /* pieces before this one are gone */

	/* What has been read, and where the rest of a slice goes. */
	uint32_t in_at, in_len;
	char *into;
	uint32_t into_left;
	struct gt_tcp_fifo *receiving;
	char in[GT_TCP_READ_BYTES];
};

struct gt_link {
	struct gt_link_config config;
	struct gt_link_shape shape;
	uint32_t nprocesses, per_peer; /* sockets per process */
	struct gt_world_part *parts;
	struct gt_net_address *addresses; /* where the others listen */
	struct gt_door door;
	char device[GT_NET_NAME_MAX];   /* of this process's address, or "" */
	struct gt_tcp_socket **sockets; /* nprocesses * per_peer, or NULL */
	uint32_t generation;
	char *memory; /* counters and slots of all FIFOs */

	struct gt_bell bell; /* the proxy's */
	int wake_fd;
	pthread_t thread;
	int has_thread;
	_Atomic int stop;
	_Atomic int busy;        /* somebody carries */
	_Atomic int attended;    /* how many ranks do, when they are idle */
	_Atomic uint32_t broken; /* 0, or 1 + the process that is gone */
};

static inline int gt_tcp_is_sending(const struct gt_tcp_socket *socket)
{
	return socket->piece < 2 * socket->nout;
}

/* tcp_proxy.c */
void *gt_tcp_main(void *link);
int gt_tcp_carry(struct gt_link *link);

#endif
