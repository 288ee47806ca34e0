/*
 * TCP sockets: which interface, which address, who connects to whom.
 *
 * An interface choice has the syntax of NCCL_SOCKET_IFNAME: a list of prefixes
 * separated by commas ("eth,ib"); "=eth0,eth1" are exact names, "^docker,lo"
 * are those not to take.  NULL stands for any interface that is up and has an
 * address, loopback and container bridges last.
 */
#ifndef GT_WORLD_NET_H
#define GT_WORLD_NET_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

struct gt_err;

enum { GT_NET_NAME_MAX = 128 };

struct gt_net_address {
	struct sockaddr_storage storage;
	socklen_t len;
};

/* The choice that somebody made, or NULL for the one of GTOPO_SOCKET_IFNAME. */
const char *gt_net_interface_choice(const char *choice);

/* Is the interface of that name one of the choice? */
int gt_net_is_chosen(const char *choice, const char *name);

/* Find the local address to tell others; GT_EINPUT when no interface fits. */
int gt_net_local(const char *choice, struct gt_net_address *address,
		 struct gt_err *err);

/*
 * Find an address; host is a name or an IPv4 or IPv6 address, in brackets or
 * not.
 */
int gt_net_resolve(const char *host, uint16_t port,
		   struct gt_net_address *address, struct gt_err *err);

/* Print "1.2.3.4:5" or "[::1]:5". */
void gt_net_text(const struct gt_net_address *address,
		 char text[GT_NET_NAME_MAX]);

/*
 * Listen there, at any free port if it is 0, which *address then gets; *fd is
 * the socket.
 */
int gt_net_listen(struct gt_net_address *address, int *fd, struct gt_err *err);

/*
 * How long something is tried: until a time of the monotonic clock, or until
 * *stop is set.
 */
struct gt_net_deadline {
	int64_t deadline_ns;
	const _Atomic int *stop; /* NULL: nobody says so */
	/* Or until nobody listens, who would do so already. */
	int ends_refused;
};

/*
 * How many milliseconds the caller may sleep at a time before it looks again;
 * 0: the deadline has come.
 */
int gt_net_poll_ms(const struct gt_net_deadline *deadline);

/*
 * Begin to connect, without waiting; 0, or an errno and no socket.  _state then
 * is 0 when the socket is connected, EINPROGRESS while nobody knows, or why it
 * cannot be.  The socket never blocks.
 */
int gt_net_connect_start(const struct gt_net_address *address, int *fd);
int gt_net_connect_state(int fd);

/*
 * Is it that this process or host has run out of files, memory or ports?  That
 * says nothing about the other side.
 */
int gt_net_is_own_want(int error);

/*
 * Connect, again and again, since the other side may not have started yet.  The
 * socket never blocks.
 */
int gt_net_connect(const struct gt_net_address *address,
		   const struct gt_net_deadline *deadline, int *fd,
		   struct gt_err *err);

/* Have both the same host's address, whatever their ports are? */
int gt_net_is_same(const struct gt_net_address *a,
		   const struct gt_net_address *b);

/* The folder in /sys of the network device that has this address, or "". */
void gt_net_device(const struct gt_net_address *address,
		   char device[GT_NET_NAME_MAX]);

/* Set a connected socket up: no delay, keep-alive, never blocking. */
void gt_net_tune(int fd);

/*
 * Break the connection when the other side has not acknowledged for so long
 * what was sent.
 */
void gt_net_set_ack_timeout(int fd, int64_t limit_ns);

/*
 * Tell the socket that its other end is on this host, where there is no path
 * whose rate it would have to find out and to keep to by timers.
 */
void gt_net_set_local(int fd);

/*
 * Accept no more bytes for sending while so many wait that were not sent once.
 */
void gt_net_set_unsent_limit(int fd, unsigned int bytes);

#endif
