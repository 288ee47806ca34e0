/*
 * TCP sockets: which interface, which address, who connects to whom.
 *
 * An interface choice has the syntax of NCCL_SOCKET_IFNAME: a list of
 * prefixes separated by commas ("eth,ib"); "=eth0,eth1" are exact names,
 * "^docker,lo" are those not to take.  NULL: any that is up and has an
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

/* The choice that somebody made, or else the one of GTOPO_SOCKET_IFNAME. */
const char *gt_net_interface_choice(const char *choice);

/* Is the interface of that name one of the choice? */
int gt_net_is_chosen(const char *choice, const char *name);

/* The local address to tell others; GT_EINPUT when no interface fits. */
int gt_net_local(const char *choice, struct gt_net_address *address,
		 struct gt_err *err);

/* host: name or IPv4 or IPv6 address, brackets allowed. */
int gt_net_resolve(const char *host, uint16_t port,
		   struct gt_net_address *address, struct gt_err *err);

/* "1.2.3.4:5" or "[::1]:5". */
void gt_net_text(const struct gt_net_address *address,
		 char text[GT_NET_NAME_MAX]);

/* Listen there (port 0: any free one); *address gets the port.  The socket. */
int gt_net_listen(struct gt_net_address *address, int *fd, struct gt_err *err);

/* How long to try: until then on the monotonic clock, or until *stop is set. */
struct gt_net_deadline {
	int64_t deadline_ns;
	const _Atomic int *stop; /* NULL: nobody says so */
};

/* How long it may be slept at a time, in ms; 0: it is over. */
int gt_net_poll_ms(const struct gt_net_deadline *patience);

/*
 * Connect, again and again: the other side may not have started yet.  The
 * socket never blocks.
 */
int gt_net_connect(const struct gt_net_address *address,
		   const struct gt_net_deadline *patience, int *fd,
		   struct gt_err *err);

/* Have both the same host's address, whatever their ports are? */
int gt_net_is_same(const struct gt_net_address *a,
		   const struct gt_net_address *b);

/* The folder in /sys of the device that has this address, or "". */
void gt_net_device(const struct gt_net_address *address,
		   char device[GT_NET_NAME_MAX]);

/* Options of a connected socket: no delay, keep-alive, never blocks. */
void gt_net_tune(int fd);

/* Break it when nobody over there confirms what was sent for so long. */
void gt_net_set_ack_timeout(int fd, int64_t limit_ns);

/*
 * Its other end is on this host: there is no path whose rate it would have to
 * find out, and to keep to by timers.
 */
void gt_net_set_local(int fd);

/* Take no more for sending while so much has not been sent once. */
void gt_net_set_unsent_limit(int fd, unsigned int bytes);

#endif
