/*
 * A listening socket that lets in only those who know the secret.
 *
 * Whoever connects is pending: it gets a greeting, may send one answer of fixed
 * size within a few seconds, and learns nothing else.  There are never more
 * than GT_LISTENER_PENDING_MAX; when more come, the one that has waited longest
 * is turned away, so that somebody who floods or stays silent takes nobody's
 * place for long: a process that was turned away connects again.
 *
 * A listener is used by one thread, and nothing blocks.
 */
#ifndef GT_WORLD_LISTENER_H
#define GT_WORLD_LISTENER_H

#include <poll.h>
#include <stdint.h>

#include "world/auth.h"
#include "world/wire.h"

struct gt_err;
struct gt_net_address;
struct gt_net_deadline;

enum { GT_LISTENER_PENDING_MAX = 256 };

/* The purpose of a connection. */
enum gt_connection_kind {
	GT_CONNECTION_CONTROL = 1,
	GT_CONNECTION_DATA,
	GT_CONNECTION_REGROUP,
};

struct gt_pending {
	struct gt_wire wire;
	struct gt_auth_greeting greeting;
	int64_t since_ns;
};

struct gt_listener {
	int fd; /* listens; -1: closed */
	/* No files are left, so it tries later; 0: it has taken all. */
	int64_t rests_until_ns;
	const struct gt_secret *secret;
	uint32_t npending;
	struct gt_pending pending[GT_LISTENER_PENDING_MAX];
};

/* Called for each that has proved itself; the callee takes the wire. */
typedef void gt_listener_enter(void *arg, struct gt_wire *wire,
			       const struct gt_auth_answer *answer);

/* Takes the listening socket and borrows the secret. */
void gt_listener_init(struct gt_listener *listener, int fd,
		      const struct gt_secret *secret);
void gt_listener_close(struct gt_listener *listener);

/*
 * Write what is to be polled, GT_LISTENER_PENDING_MAX + 1 entries at most, and
 * return how many.
 */
uint32_t gt_listener_polls(const struct gt_listener *listener,
			   struct pollfd *polls);

/* Accept, read and judge whatever can be done now. */
void gt_listener_serve(struct gt_listener *listener, gt_listener_enter *enter,
		       void *arg);

/* How an attempt to be let in ends. */
enum gt_connect_state {
	GT_CONNECT_OPEN,
	GT_CONNECT_TURNED_AWAY, /* turned away before the end */
	GT_CONNECT_FOREIGN      /* not one of us */
};

/* Answer on a socket that is connected, and check the proof. */
enum gt_connect_state gt_listener_answer(
	int fd, const struct gt_secret *secret,
	const struct gt_auth_answer *answer,
	const struct gt_net_deadline *deadline);

/*
 * The other side of it: connect, answer and check the proof, before the
 * deadline.  In `answer` kind, rank, size and index are set, in host order.  It
 * connects again when it is turned away.
 */
int gt_listener_connect(const struct gt_net_address *address,
			const struct gt_secret *secret,
			const struct gt_auth_answer *answer,
			const struct gt_net_deadline *deadline, int *fd,
			struct gt_err *err);

#endif
