/*
 * Inside the TCP link: what its setup (link.c) and its proxy thread
 * (proxy.c, with send.c and receive.c) share.  The proxy runs
 * between two connect() calls and owns everything here while it does, together
 * with ranks that attend: whoever has `busy` works, and nobody waits for it.
 * `stop` and `broken` are all that the setup and they exchange.
 *
 * On a socket go messages: a head, and for data a slice.  Both sides number
 * the FIFOs between them alike.  A slice is sent straight from the sender's
 * slot and received straight into the receiver's; the receiver's slot is free
 * because the sender has counted its credits, so nobody ever waits for memory
 * with a message half read, and one slow FIFO holds up no other.
 *
 * Two processes may have several sockets.  A slice is cut into a part for
 * each; they take turns, past those that have not got rid of their last one,
 * so a slow flow carries less.  Slots are handed over in order on either side.
 */
#ifndef GT_EXEC_LINK_TCP_TCP_H
#define GT_EXEC_LINK_TCP_TCP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/proxied_link.h"
#include "world/listener.h"
#include "world/net.h"

enum gt_tcp_kind {
	GT_TCP_DATA = 1, /* number: bytes that follow */
	GT_TCP_CREDIT,   /* number: slices consumed since the last one */
};

/*
 * The head of a message, in network order.  Late credits of an earlier
 * generation are ignored.
 */
struct gt_tcp_head {
	uint32_t kind, generation, fifo, number;
	uint32_t slice, at, whole; /* data: of that slice of `whole` bytes the
				      `number` ones that begin at `at` */
};

enum {
	/*
	 * So much is read at most behind a slice's end, and copied once more if
	 * it belongs to another slice.
	 */
	GT_TCP_READ_BYTES = 8 << 10,
	GT_TCP_BATCH = 16, /* messages that go out with one call */
	GT_TCP_SOCKETS_MAX = 16,
	/* A smaller part is not worth its head and a system call. */
	GT_TCP_PART_BYTES = 32 << 10,
	/* So many bytes may wait unsent in one of several sockets. */
	GT_TCP_UNSENT_BYTES = 32 << 10,
};

/* The state of a slot that is being sent or received. */
struct gt_tcp_slot {
	uint32_t left;  /* bytes of which no part has begun */
	uint16_t users; /* parts that are on their way */
	uint16_t begun; /* has any part begun? */
};

/* A FIFO whose other end is in another process. */
struct gt_tcp_fifo {
	struct gt_fifo *counters;
	struct gt_fifo_end end; /* the proxy's: it stands for the far rank */
	int sends;              /* the local rank is the sender */
	struct gt_tcp_slot *slots;
	uint64_t next;   /* sends: the slice to take a part of */
	uint64_t credit; /* sends: what the far side has consumed */
	uint64_t told;   /* receives: credits passed on */
};

struct gt_tcp_out {
	struct gt_tcp_head head;
	struct gt_tcp_fifo *part_of; /* NULL: it is a credit */
	uint32_t slot;
};

struct gt_tcp_peer;

struct gt_tcp_socket {
	int fd; /* -1: broken */
	struct gt_tcp_peer *peer;
	uint32_t index; /* of the peer's */

	/*
	 * The messages that are being sent: nout of them, each a head and a
	 * part.
	 */
	struct gt_tcp_out out[GT_TCP_BATCH];
	struct iovec pieces[2 * GT_TCP_BATCH];
	uint32_t nout, piece; /* pieces before this one are gone */

	/* This has been read, and the rest of a part goes to `into`. */
	uint32_t in_at, in_len;
	char *into;
	uint32_t into_left, into_slot;
	struct gt_tcp_fifo *receiving;
	char in[GT_TCP_READ_BYTES];
};

/* Another process. */
struct gt_tcp_peer {
	struct gt_net_address address; /* where it listens */
	uint32_t process;
	int is_here; /* on this host */
	uint32_t nsockets;
	struct gt_tcp_socket *sockets[GT_TCP_SOCKETS_MAX]; /* NULL: not yet */
	uint32_t nfifos;
	struct gt_tcp_fifo *fifos;
	uint32_t turn;        /* the FIFO that is looked at next */
	uint32_t socket_turn; /* the socket that takes the next part */
};

struct gt_tcp_link {
	struct gt_proxied_link base;
	uint32_t nprocesses;
	struct gt_tcp_peer *peers;      /* of each process, also this one */
	struct gt_tcp_socket **sockets; /* of all of them */
	uint32_t nsockets;
	struct gt_world_part *parts;
	struct gt_listener listener;
	char device[GT_NET_NAME_MAX]; /* of this process's address, or "" */
	uint32_t generation;
	struct gt_tcp_slot *slots;
	_Atomic uint32_t broken; /* 0, or 1 + the process that is gone */
};

static inline int gt_tcp_is_sending(const struct gt_tcp_socket *socket)
{
	return socket->piece < 2 * socket->nout;
}

/* Each process tells all others this when the link opens. */
struct gt_tcp_offer {
	struct gt_net_address address; /* where it listens */
	uint32_t wanted;               /* sockets: GTOPO_TCP_SOCKETS, or 0 */
	uint32_t usual;                /* sockets that the card calls for */
};

/*
 * Fill in the sockets that this process asks for, whose card is `device`
 * (gt_net_device()); GT_EINPUT when its environment makes no sense.
 */
int gt_tcp_offer_read(const char *device, struct gt_tcp_offer *own,
		      struct gt_err *err);

/*
 * Return how many sockets two processes have, whoever of them asks: the most
 * that was asked for; else one within a host, and between hosts what the cards
 * call for.  Links that work side by side share them out.
 */
uint32_t gt_tcp_nsockets(const struct gt_tcp_offer *a,
			 const struct gt_tcp_offer *b, uint32_t streams);

/* proxy.c: what its proxy does. */
extern const struct gt_proxied_link_ops gt_tcp_proxy;

/*
 * Send to a socket, and receive from it.  Both are 1 when something was done, 0
 * when nothing was, and -1 when the socket is broken.
 */
int gt_tcp_send(const struct gt_tcp_link *link, struct gt_tcp_socket *socket);
int gt_tcp_receive(const struct gt_tcp_link *link,
		   struct gt_tcp_socket *socket);

/*
 * Send the rest of a head that has gone half, if the socket accepts it: before
 * the socket is used for other slots.
 */
void gt_tcp_finish(struct gt_tcp_socket *socket);

#endif
