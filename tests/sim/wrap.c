/*
 * What the linker calls in place of the C library's functions (--wrap): sim's
 * when a simulated thread calls, else the real ones.
 */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define SIM_WRAP(type, name, ...)                                              \
	type __real_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__)

SIM_WRAP(int, socket, int family, int type, int protocol)
{
	if (!sim_is_inside())
		return __real_socket(family, type, protocol);
	return sim_socket(family);
}

SIM_WRAP(int, eventfd, unsigned int count, int flags)
{
	return sim_is_inside() ? sim_eventfd() : __real_eventfd(count, flags);
}

SIM_WRAP(int, bind, int fd, const struct sockaddr *name, socklen_t len)
{
	return sim_is_fd(fd) ? sim_bind(fd, name, len)
			     : __real_bind(fd, name, len);
}

SIM_WRAP(int, listen, int fd, int backlog)
{
	return sim_is_fd(fd) ? sim_listen(fd) : __real_listen(fd, backlog);
}

SIM_WRAP(int, accept, int fd, struct sockaddr *name, socklen_t *len)
{
	if (!sim_is_fd(fd))
		return __real_accept(fd, name, len);
	sim_maybe_switch();
	return sim_accept(fd);
}

SIM_WRAP(int, connect, int fd, const struct sockaddr *name, socklen_t len)
{
	if (!sim_is_fd(fd))
		return __real_connect(fd, name, len);
	sim_maybe_switch();
	return sim_connect(fd, name, len);
}

SIM_WRAP(int, poll, struct pollfd *polls, nfds_t n, int timeout_ms)
{
	return sim_is_inside() ? sim_poll(polls, n, timeout_ms)
			       : __real_poll(polls, n, timeout_ms);
}

SIM_WRAP(ssize_t, read, int fd, void *bytes, size_t len)
{
	return sim_is_fd(fd) ? sim_read(fd, bytes, len)
			     : __real_read(fd, bytes, len);
}

SIM_WRAP(ssize_t, write, int fd, const void *bytes, size_t len)
{
	return sim_is_fd(fd) ? sim_write(fd, bytes, len)
			     : __real_write(fd, bytes, len);
}

SIM_WRAP(ssize_t, recv, int fd, void *bytes, size_t len, int flags)
{
	if (!sim_is_fd(fd))
		return __real_recv(fd, bytes, len, flags);
	sim_maybe_switch();
	return sim_read(fd, bytes, len);
}

SIM_WRAP(ssize_t, send, int fd, const void *bytes, size_t len, int flags)
{
	if (!sim_is_fd(fd))
		return __real_send(fd, bytes, len, flags);
	sim_maybe_switch();
	return sim_write(fd, bytes, len);
}

SIM_WRAP(int, shutdown, int fd, int how)
{
	return sim_is_fd(fd) ? sim_shutdown(fd) : __real_shutdown(fd, how);
}

SIM_WRAP(int, close, int fd)
{
	return sim_is_fd(fd) ? sim_close(fd) : __real_close(fd);
}

/* Nothing here ever blocks but poll(), so that flags are not kept. */
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	long arg;

	if (sim_is_fd(fd))
		return command == F_DUPFD_CLOEXEC ? sim_dup(fd) : 0;
	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	return __real_fcntl(fd, command, arg);
}

SIM_WRAP(int, setsockopt, int fd, int level, int option, const void *value,
	 socklen_t len)
{
	return sim_is_fd(fd) ? 0
			     : __real_setsockopt(fd, level, option, value, len);
}

SIM_WRAP(int, getsockopt, int fd, int level, int option, void *value,
	 socklen_t *len)
{
	int error;

	if (!sim_is_fd(fd))
		return __real_getsockopt(fd, level, option, value, len);
	error = sim_error_of(fd); /* SO_ERROR is all that anybody asks for */
	memcpy(value, &error, sizeof(error));
	return 0;
}

SIM_WRAP(int, getsockname, int fd, struct sockaddr *name, socklen_t *len)
{
	return sim_is_fd(fd) ? sim_name(fd, 0, name, len)
			     : __real_getsockname(fd, name, len);
}

SIM_WRAP(int, getpeername, int fd, struct sockaddr *name, socklen_t *len)
{
	return sim_is_fd(fd) ? sim_name(fd, 1, name, len)
			     : __real_getpeername(fd, name, len);
}

SIM_WRAP(ssize_t, getrandom, void *bytes, size_t len, unsigned int flags)
{
	unsigned char *at = bytes;

	if (!sim_is_inside())
		return __real_getrandom(bytes, len, flags);
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)sim_draw(256);
	return (ssize_t)len;
}

SIM_WRAP(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	if (!sim_is_inside())
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){.tv_sec = sim_now_ns() / 1000000000,
				 .tv_nsec = sim_now_ns() % 1000000000};
	return 0;
}

SIM_WRAP(int, nanosleep, const struct timespec *nap, struct timespec *left)
{
	struct sim_wait wait = {.deadline_ns = SIM_NEVER};

	if (!sim_is_inside())
		return __real_nanosleep(nap, left);
	wait.deadline_ns =
		sim_now_ns() + nap->tv_sec * 1000000000 + nap->tv_nsec;
	sim_wait(&wait);
	return 0;
}

/*
 * A mutex's first word, which is 0 in a new one, has the number of the process
 * that holds it; threads of another process have mutexes of their own.
 */
static int sim_is_free(const void *mutex)
{
	int word;

	memcpy(&word, mutex, sizeof(word));
	return !word;
}

static void sim_set(pthread_mutex_t *mutex, int word)
{
	memcpy(mutex, &word, sizeof(word));
}

SIM_WRAP(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	const struct sim_wait wait = {sim_is_free, mutex, SIM_NEVER};

	if (!sim_is_inside())
		return __real_pthread_mutex_lock(mutex);
	sim_wait(&wait);
	sim_set(mutex, (int)sim_self() + 1);
	return 0;
}

SIM_WRAP(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
	if (!sim_is_inside())
		return __real_pthread_mutex_unlock(mutex);
	if (sim_is_free(mutex))
		abort();
	sim_set(mutex, 0);
	sim_maybe_switch();
	return 0;
}

/*
 * A condition variable counts its broadcasts in its first word.  Whoever waits
 * also wakes for nothing, now and then.
 */
struct sim_news {
	const pthread_cond_t *cond;
	unsigned int seen;
};

static unsigned int sim_count(const pthread_cond_t *cond)
{
	unsigned int word;

	memcpy(&word, cond, sizeof(word));
	return word;
}

static int sim_has_news(const void *arg)
{
	const struct sim_news *news = arg;

	return sim_count(news->cond) != news->seen;
}

static int sim_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			 int64_t deadline_ns)
{
	const struct sim_news news = {cond, sim_count(cond)};
	struct sim_wait wait = {sim_has_news, &news, deadline_ns};
	int64_t early_ns = sim_now_ns() + (int64_t)sim_draw(100000000);
	int is_early = !sim_draw(8) && early_ns < deadline_ns;

	if (is_early)
		wait.deadline_ns = early_ns;
	sim_set(mutex, 0);
	is_early |= sim_wait(&wait);
	__wrap_pthread_mutex_lock(mutex);
	return is_early ? 0 : ETIMEDOUT;
}

SIM_WRAP(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (!sim_is_inside())
		return __real_pthread_cond_wait(cond, mutex);
	return sim_cond_wait(cond, mutex, SIM_NEVER);
}

SIM_WRAP(int, pthread_cond_timedwait, pthread_cond_t *cond,
	 pthread_mutex_t *mutex, const struct timespec *until)
{
	if (!sim_is_inside())
		return __real_pthread_cond_timedwait(cond, mutex, until);
	return sim_cond_wait(cond, mutex,
			     until->tv_sec * 1000000000 + until->tv_nsec);
}

SIM_WRAP(int, pthread_cond_broadcast, pthread_cond_t *cond)
{
	unsigned int word = sim_count(cond) + 1;

	if (!sim_is_inside())
		return __real_pthread_cond_broadcast(cond);
	memcpy(cond, &word, sizeof(word));
	return 0;
}

/* The C library's checks of a destroyed one would find what is in it. */
SIM_WRAP(int, pthread_cond_destroy, pthread_cond_t *cond)
{
	return sim_is_inside() ? 0 : __real_pthread_cond_destroy(cond);
}

SIM_WRAP(int, pthread_cond_init, pthread_cond_t *cond,
	 const pthread_condattr_t *attr)
{
	if (!sim_is_inside())
		return __real_pthread_cond_init(cond, attr);
	memset(cond, 0, sizeof(*cond));
	return 0;
}
