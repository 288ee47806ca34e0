/*
 * A listening socket that lets in only those who know the secret.
 *
 * Whoever connects is a guest: it gets a greeting, may send one answer of
 * fixed size within a few seconds, and learns nothing else.  There are never
 * more than GT_LISTENER_PENDING_MAX; when more come, the one that has waited longest is
 * turned away, so somebody who floods or stays silent takes nobody's place
 * for long: a process that was turned away knocks again.
 *
 * Used by one thread.  Nothing blocks.
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

/* What a connection is for. */
enum gt_connection_kind {
	GT_CONNECTION_CONTROL = 1,
	GT_CONNECTION_DATA,
};

struct gt_pending {
	struct gt_wire wire;
	struct gt_auth_greeting greeting;
	int64_t since_ns;
};

struct gt_listener {
	int fd;                 /* listens; -1: closed */
	int64_t rests_until_ns; /* no files were left: it tries later */
	const struct gt_secret *secret;
	uint32_t nguests;
	struct gt_pending guests[GT_LISTENER_PENDING_MAX];
};

/* One that has proved itself; the wire is the callee's. */
typedef void gt_listener_enter(void *arg, struct gt_wire *wire,
			       const struct gt_auth_answer *answer);

/* Takes the listening socket, borrows the secret. */
void gt_listener_init(struct gt_listener *door, int fd,
		      const struct gt_secret *secret);
void gt_listener_close(struct gt_listener *door);

/* What to poll: at most GT_LISTENER_PENDING_MAX + 1 entries; how many. */
uint32_t gt_listener_polls(const struct gt_listener *door,
			   struct pollfd *polls);

/* Accept, read, judge: whatever can be done now. */
void gt_listener_serve(struct gt_listener *door, gt_listener_enter *enter,
		       void *arg);

/*
 * The other side: connect, answer, and see the proof, as long as that may take.
 * answer: kind, rank, size and index are set, in host order.  Knocks again
 * when it is turned away.
 */
int gt_listener_connect(const struct gt_net_address *address,
			const struct gt_secret *secret,
			const struct gt_auth_answer *answer,
			const struct gt_net_deadline *patience, int *fd,
			struct gt_err *err);

#endif
