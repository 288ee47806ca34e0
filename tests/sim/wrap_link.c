/*
 * What links and engines call besides, in a simulated system (sim.h): messages
 * in several pieces, futexes, processors and the network's interfaces.  Memory
 * that has a descriptor is real.
 */
#include "sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

#define SIM_WRAP(type, name, ...)                                              \
	type __real_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__)

enum { SIM_FUTEXES = 64, SIM_CPUS = 4, SIM_FULL_NS = 5000000 };

/* Read or write piece after piece, for as long as each is filled. */
static ssize_t sim_pieces(int fd, const struct msghdr *message,
			  ssize_t (*move)(int fd, void *bytes, size_t len))
{
	ssize_t all = 0, done;

	sim_maybe_switch();
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *piece = &message->msg_iov[i];

		if (!piece->iov_len)
			continue;
		done = move(fd, piece->iov_base, piece->iov_len);
		if (done <= 0)
			return all ? all : done;
		all += done;
		if ((size_t)done < piece->iov_len)
			break;
	}
	return all;
}

/* Whoever takes only a part of it may take the rest much later. */
static ssize_t sim_write_piece(int fd, void *bytes, size_t len)
{
	ssize_t done = sim_write(fd, bytes, len);

	if (done > 0 && (size_t)done < len && !sim_draw(2))
		sim_fill(fd, sim_now_ns() + (int64_t)sim_draw(SIM_FULL_NS));
	return done;
}

SIM_WRAP(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
	return sim_is_fd(fd) ? sim_pieces(fd, message, sim_write_piece)
			     : __real_sendmsg(fd, message, flags);
}

SIM_WRAP(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
	return sim_is_fd(fd) ? sim_pieces(fd, message, sim_read)
			     : __real_recvmsg(fd, message, flags);
}

/*
 * Wake-ups are counted by process, whose own ranks they are for, and by place
 * in a page, which is the same whenever a seed is tried.
 */
static uint32_t sim_wakes[SIM_PROCESSES][SIM_FUTEXES];

struct sim_sleep {
	const uint32_t *wakes;
	uint32_t seen;
};

static int sim_is_woken(const void *arg)
{
	const struct sim_sleep *sleep = arg;

	return *sleep->wakes != sleep->seen;
}

static long sim_futex(const uint32_t *word, int operation, uint32_t value,
		      const struct timespec *limit)
{
	uint32_t *wakes =
		&sim_wakes[sim_self()][(uintptr_t)word / 64 % SIM_FUTEXES];
	const struct sim_sleep sleep = {wakes, *wakes};
	struct sim_wait wait = {sim_is_woken, &sleep, SIM_NEVER};

	if (operation == FUTEX_WAKE) {
		++*wakes;
		sim_maybe_switch();
		return 0;
	}
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
		errno = EAGAIN;
		return -1;
	}
	wait.deadline_ns =
		sim_now_ns() + limit->tv_sec * 1000000000 + limit->tv_nsec;
	if (sim_wait(&wait))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

/* Only the code under test calls it inside, and only for futexes. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (sim_is_inside() && number == SYS_futex)
		return sim_futex((const uint32_t *)arg[0], (int)arg[1],
				 (uint32_t)arg[2],
				 (const struct timespec *)arg[3]);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

SIM_WRAP(int, sched_yield, void)
{
	if (!sim_is_inside())
		return __real_sched_yield();
	sim_maybe_switch();
	return 0;
}

/* A seed is the same world on every machine. */
SIM_WRAP(int, sched_getaffinity, pid_t pid, size_t size, cpu_set_t *cpus)
{
	if (!sim_is_inside())
		return __real_sched_getaffinity(pid, size, cpus);
	memset(cpus, 0, size);
	for (int i = 0; i < SIM_CPUS; i++)
		CPU_SET_S(i, size, cpus);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

SIM_WRAP(int, pthread_cond_signal, pthread_cond_t *cond)
{
	return sim_is_inside() ? __wrap_pthread_cond_broadcast(cond)
			       : __real_pthread_cond_signal(cond);
}

/* Hosts are told apart, though all of them are this one. */
SIM_WRAP(char *, getenv, const char *name)
{
	static char hosts[SIM_PROCESSES][16];
	uint32_t host;

	if (!sim_is_inside() || strcmp(name, "GTOPO_HOSTID"))
		return __real_getenv(name);
	host = sim_process_of(sim_self())->host;
	snprintf(hosts[host], sizeof(hosts[host]), "host%u", host);
	return hosts[host];
}

/* Each host has one interface, with the address that its sockets have. */
SIM_WRAP(int, getifaddrs, struct ifaddrs **all)
{
	static struct ifaddrs cards[SIM_PROCESSES];
	static struct sockaddr_in addresses[SIM_PROCESSES];
	uint32_t host;

	if (!sim_is_inside())
		return __real_getifaddrs(all);
	host = sim_process_of(sim_self())->host;
	addresses[host] = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000001u + host)};
	cards[host] = (struct ifaddrs){
		.ifa_name = (char *)"sim0",
		.ifa_flags = IFF_UP,
		.ifa_addr = (struct sockaddr *)&addresses[host]};
	*all = &cards[host];
	return 0;
}

SIM_WRAP(void, freeifaddrs, struct ifaddrs *all)
{
	if (!sim_is_inside())
		__real_freeifaddrs(all);
}

void sim_memory_close_left(void)
{
	static const char name[] = "/memfd:gtopo";
	char path[32], is[sizeof(name)];

	for (int fd = 3; fd < SIM_FIRST_FD; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, is, sizeof(is)) >= (ssize_t)strlen(name) &&
		    !memcmp(is, name, strlen(name)))
			close(fd);
	}
}
