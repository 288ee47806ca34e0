/*
 * Asks at an address whether anybody listens there, without waiting.  A host
 * that is there answers within a few round trips, whatever its processes do,
 * but a packet may be lost; TCP sends that again only after a second.  So it is
 * asked several times, and each answer counts whenever it comes.
 */
#ifndef GT_WORLD_KNOCK_H
#define GT_WORLD_KNOCK_H

#include <stdint.h>

struct gt_net_address;

enum {
	GT_KNOCK_TIMES = 3,
	/*
	 * Enough for a host that is there to answer one of them, and little
	 * enough for a job to go on within a second of its cable's cut.
	 */
	GT_KNOCK_LEAST_NS = 600000000,
};

struct gt_knock {
	int fds[GT_KNOCK_TIMES]; /* -1: none */
	uint32_t times;          /* that it has asked */
	int64_t since_ns;        /* the first of them */
};

enum gt_knock_state {
	GT_KNOCK_WAITS,
	GT_KNOCK_OPEN,
	GT_KNOCK_REFUSED, /* by the host: nobody listens there */
	GT_KNOCK_SILENCE, /* there is no way, or nobody has answered in time */
	GT_KNOCK_WANT,    /* of files or memory here; errno says of what */
};

/* It holds no sockets yet. */
void gt_knock_init(struct gt_knock *knock);

/*
 * Go on with it, for limit_ns in all.  OPEN: *fd is a socket, which is the
 * caller's.  Nothing is held any more unless it still waits.
 */
enum gt_knock_state gt_knock_look(struct gt_knock *knock,
				  const struct gt_net_address *address,
				  int64_t limit_ns, int *fd);

/* Give it up. */
void gt_knock_end(struct gt_knock *knock);

#endif
