/*
 * A listening socket that lets in only those who know the secret.
 *
 * Whoever connects is a guest: it gets a greeting, may send one answer of
 * fixed size within a few seconds, and learns nothing else.  There are never
 * more than GT_DOOR_GUESTS; when more come, the one that has waited longest is
 * turned away, so somebody who floods or stays silent takes nobody's place
 * for long: a process that was turned away knocks again.
 *
 * Used by one thread.  Nothing blocks.
 */
#ifndef GT_WORLD_DOOR_H
#define GT_WORLD_DOOR_H

#include <poll.h>
#include <stdint.h>

#include "world/auth.h"
#include "world/wire.h"

struct gt_err;
struct gt_net_address;
struct gt_net_patience;

enum { GT_DOOR_GUESTS = 256 };

/* What a connection is for. */
enum gt_door_kind {
	GT_DOOR_CONTROL = 1,
	GT_DOOR_DATA,
};

struct gt_guest {
	struct gt_wire wire;
	struct gt_auth_greeting greeting;
	int64_t since_ns;
};

struct gt_door {
	int fd;                 /* listens; -1: closed */
	int64_t rests_until_ns; /* no files were left: it tries later */
	const struct gt_secret *secret;
	uint32_t nguests;
	struct gt_guest guests[GT_DOOR_GUESTS];
};

/* One that has proved itself; the wire is the callee's. */
typedef void gt_door_enter(void *arg, struct gt_wire *wire,
			   const struct gt_auth_answer *answer);

/* Takes the listening socket, borrows the secret. */
void gt_door_init(struct gt_door *door, int fd, const struct gt_secret *secret);
void gt_door_close(struct gt_door *door);

/* What to poll: at most GT_DOOR_GUESTS + 1 entries; how many. */
uint32_t gt_door_polls(const struct gt_door *door, struct pollfd *polls);

/* Accept, read, judge: whatever can be done now. */
void gt_door_serve(struct gt_door *door, gt_door_enter *enter, void *arg);

/*
 * The other side: connect, answer, and see the proof, as long as that may take.
 * answer: kind, rank, size and index are set, in host order.  Knocks again
 * when it is turned away.
 */
int gt_door_knock(const struct gt_net_address *address,
		  const struct gt_secret *secret,
		  const struct gt_auth_answer *answer,
		  const struct gt_net_patience *patience, int *fd,
		  struct gt_err *err);

#endif
