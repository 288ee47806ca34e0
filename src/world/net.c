/* Addresses, interfaces and sockets for all connections of a job. */
#include "world/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/close_on_fork.h"

enum {
	GT_NET_BACKLOG = 1024,
	GT_NET_RETRY_NS = 20000000,
	GT_NET_REFUSALS = 3, /* of who was there: then it is gone */
	GT_NET_NAP_MS = 50,
};

/* Does the list, behind its mark if it has one, name this interface? */
static int gt_net_listed(const char *list, const char *name, int exact)
{
	size_t len;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (!len)
			continue;
		if (!strncmp(list, name, len) && (!exact || !name[len]))
			return 1;
	}
	return 0;
}

const char *gt_net_interface_choice(const char *choice)
{
	return choice ? choice : getenv("GTOPO_SOCKET_IFNAME");
}

int gt_net_is_chosen(const char *choice, const char *name)
{
	int not_these = 0, exact = 0;

	if (!choice || !*choice)
		return 1;
	not_these = *choice == '^';
	choice += not_these;
	exact = *choice == '=';
	choice += exact;
	return gt_net_listed(choice, name, exact) != not_these;
}

/*
 * How much an interface is preferred, smaller first: real networks, then
 * bridges, then loopback.
 */
static int gt_net_rank(const struct ifaddrs *at)
{
	const struct sockaddr_in6 *six = (const void *)at->ifa_addr;
	int rank = at->ifa_addr->sa_family == AF_INET ? 0 : 1;

	if (at->ifa_flags & IFF_LOOPBACK)
		rank += 8;
	if (gt_net_listed("docker,virbr,veth,br-", at->ifa_name, 0))
		rank += 4;
	if (at->ifa_addr->sa_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
		rank += 2;
	return rank;
}

static socklen_t gt_net_family_bytes(int family)
{
	return family == AF_INET    ? sizeof(struct sockaddr_in)
	       : family == AF_INET6 ? sizeof(struct sockaddr_in6)
				    : 0;
}

int gt_net_local(const char *choice, struct gt_net_address *address,
		 struct gt_err *err)
{
	const struct ifaddrs *best = NULL;
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot list network interfaces: %s",
				  strerror(errno));
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) ||
		    !gt_net_family_bytes(at->ifa_addr->sa_family) ||
		    !gt_net_is_chosen(choice, at->ifa_name))
			continue;
		if (!best || gt_net_rank(at) < gt_net_rank(best))
			best = at;
	}
	if (best) {
		address->len = gt_net_family_bytes(best->ifa_addr->sa_family);
		memcpy(&address->storage, best->ifa_addr, address->len);
	}
	freeifaddrs(all);
	if (!best)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "no network interface that is up fits '%s'",
				  choice ? choice : "any");
	return GT_OK;
}

/* Whether an interface has the address, whatever its port is. */
static int gt_net_is_host(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->sa_family != b->sa_family)
		return 0;
	if (a->sa_family == AF_INET)
		return !memcmp(&four->sin_addr,
			       &((const struct sockaddr_in *)(const void *)b)
					->sin_addr,
			       sizeof(four->sin_addr));
	return a->sa_family == AF_INET6 &&
	       !memcmp(&six->sin6_addr,
		       &((const struct sockaddr_in6 *)(const void *)b)
				->sin6_addr,
		       sizeof(six->sin6_addr));
}

int gt_net_is_same(const struct gt_net_address *a,
		   const struct gt_net_address *b)
{
	return gt_net_is_host((const struct sockaddr *)&a->storage,
			      (const struct sockaddr *)&b->storage);
}

void gt_net_device(const struct gt_net_address *address,
		   char device[GT_NET_NAME_MAX])
{
	const struct sockaddr *own = (const void *)&address->storage;
	struct ifaddrs *all;

	*device = '\0';
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *at = all; at; at = at->ifa_next)
		if (at->ifa_addr && gt_net_is_host(at->ifa_addr, own))
			snprintf(device, GT_NET_NAME_MAX,
				 "/sys/class/net/%s/device", at->ifa_name);
	freeifaddrs(all);
}

int gt_net_resolve(const char *host, uint16_t port,
		   struct gt_net_address *address, struct gt_err *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	char name[GT_NET_NAME_MAX], service[8];
	size_t len = strlen(host);
	int rc;

	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, host);
	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(name, service, &hints, &found);
	if (rc)
		return gt_err_set(
			err,
			rc == EAI_MEMORY || rc == EAI_SYSTEM ? GT_ESYS
							     : GT_EINPUT,
			NULL, "address '%s': %s", name,
			rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	address->len = found->ai_addrlen;
	memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return GT_OK;
}

void gt_net_text(const struct gt_net_address *address,
		 char text[GT_NET_NAME_MAX])
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&address->storage,
			address->len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, GT_NET_NAME_MAX, "?");
	else
		snprintf(text, GT_NET_NAME_MAX,
			 strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static int gt_net_set_flags(int fd)
{
	gt_close_on_fork_mark(fd);
	return fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, O_NONBLOCK);
}

int gt_net_listen(struct gt_net_address *address, int *out, struct gt_err *err)
{
	struct sockaddr *name = (struct sockaddr *)&address->storage;
	char text[GT_NET_NAME_MAX];
	int fd, on = 1;

	gt_net_text(address, text);
	fd = socket(name->sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return gt_err_set(err, GT_ESYS, NULL, "no socket: %s",
				  strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, name, address->len) || listen(fd, GT_NET_BACKLOG) ||
	    gt_net_set_flags(fd) || getsockname(fd, name, &address->len)) {
		gt_err_set(err, GT_ESYS, NULL, "cannot listen on '%s': %s",
			   text, strerror(errno));
		close(fd);
		return GT_ESYS;
	}
	*out = fd;
	return GT_OK;
}

void gt_net_tune(int fd)
{
	int on = 1;

	gt_net_set_flags(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void gt_net_set_ack_timeout(int fd, int64_t limit_ns)
{
	unsigned int limit_ms = (unsigned int)(limit_ns / 1000000);

	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms,
		   sizeof(limit_ms));
}

/* Reno is part of every kernel, and everybody's to choose. */
void gt_net_set_local(int fd)
{
	static const char reno[] = "reno";

	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

void gt_net_set_unsent_limit(int fd, unsigned int bytes)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

int gt_net_poll_ms(const struct gt_net_deadline *deadline)
{
	int64_t left_ms = (deadline->deadline_ns - gt_clock_ns()) / 1000000;

	if (left_ms <= 0 || (deadline->stop && atomic_load(deadline->stop)))
		return 0;
	return left_ms < GT_NET_NAP_MS ? (int)left_ms : GT_NET_NAP_MS;
}

int gt_net_connect_start(const struct gt_net_address *address, int *out)
{
	const struct sockaddr *name = (const void *)&address->storage;
	int fd = socket(name->sa_family, SOCK_STREAM, 0), error = 0;

	if (fd < 0)
		return errno;
	gt_net_tune(fd);
	if (connect(fd, name, address->len) && errno != EINPROGRESS)
		error = errno;
	if (error)
		close(fd);
	else
		*out = fd;
	return error;
}

/*
 * Where nobody listens at a port of this host, the system may have given the
 * socket that port as its own, and then it is connected to itself.
 */
static int gt_net_is_alone(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return !getsockname(fd, (struct sockaddr *)&own, &own_len) &&
	       !getpeername(fd, (struct sockaddr *)&peer, &peer_len) &&
	       own_len == peer_len && !memcmp(&own, &peer, own_len);
}

int gt_net_connect_state(int fd)
{
	struct pollfd look = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&look, 1, 0) < 1)
		return EINPROGRESS;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return !error && gt_net_is_alone(fd) ? ECONNREFUSED : error;
}

int gt_net_is_own_want(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS ||
	       error == ENOMEM || error == EADDRNOTAVAIL;
}

/* Try once to connect; 0 or an errno. */
static int gt_net_connect_once(const struct gt_net_address *address,
			       const struct gt_net_deadline *deadline, int *out)
{
	struct pollfd wait = {.events = POLLOUT};
	int error = gt_net_connect_start(address, out), nap_ms;

	if (error)
		return error;
	wait.fd = *out;
	error = ETIMEDOUT;
	while (error == ETIMEDOUT && (nap_ms = gt_net_poll_ms(deadline)))
		if (poll(&wait, 1, nap_ms) == 1)
			error = gt_net_connect_state(*out);
	if (error)
		close(*out);
	return error;
}

int gt_net_connect(const struct gt_net_address *address,
		   const struct gt_net_deadline *deadline, int *fd,
		   struct gt_err *err)
{
	struct timespec nap = {0, GT_NET_RETRY_NS};
	char text[GT_NET_NAME_MAX];
	int error, refused = 0;

	do {
		error = gt_net_connect_once(address, deadline, fd);
		if (!error)
			return GT_OK;
		refused += error == ECONNREFUSED;
		if (deadline->ends_refused && refused == GT_NET_REFUSALS)
			break;
		nanosleep(&nap, NULL);
	} while (gt_net_poll_ms(deadline));
	gt_net_text(address, text);
	return gt_err_set(err, GT_ESYS, NULL, "cannot connect to '%s': %s",
			  text, strerror(error));
}
