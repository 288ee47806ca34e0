/*
 * A simulated operating system: processes, threads, a clock and TCP, all in one
 * thread of one real process and all decided by one seed.
 *
 * The code that runs in it is the production code, as it is: the linker gives
 * it sim's functions for those of the C library (--wrap, see local.mk).  A
 * thread is a coroutine, which the scheduler may leave at each of these calls.
 * The clock goes on when nobody can run, and a little with each call.
 *
 * What it does as the real one may: bytes arrive late and in parts, sends are
 * cut short, condition variables wake for nothing, whoever waits for a mutex
 * gets it in any order.  What it does not have: files, memory that is shared,
 * signals, fork.
 */
#ifndef GT_TESTS_SIM_H
#define GT_TESTS_SIM_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
	SIM_PROCESSES = 16,
	SIM_THREADS = 128,
	SIM_FDS = 256,       /* of all processes; a number is used once */
	SIM_FIRST_FD = 1000, /* no real one */
	SIM_TEXT = 1200,
};

#define SIM_NEVER INT64_MAX

enum sim_end {
	SIM_RUNS,
	SIM_ENDED,  /* its main function has returned */
	SIM_KILLED, /* its sockets say so to the others */
	SIM_DARK,   /* without power: nothing says so */
};

struct sim_process {
	enum sim_end end;
	int64_t frozen_until_ns;   /* SIGSTOP, a page fault, a busy processor */
	int64_t clogged_until_ns;  /* what it sends does not arrive before */
	int64_t no_files_until_ns; /* EMFILE */
	uint32_t host;
};

/* Begin a world of this seed, which sim_run() runs. */
void sim_begin(uint64_t seed);

/* Add a process whose first thread calls main(arg). */
uint32_t sim_add(void (*body)(void *arg), void *arg, uint32_t host);

/*
 * Run until all processes have ended.  0: they have; else *why says who waits
 * for ever, or what was still open when a process ended.  `each` is called
 * whenever a thread is about to run, for faults.
 */
int sim_run(int64_t limit_ns, void (*each)(void *arg), void *arg,
	    char why[SIM_TEXT]);

/* A fault lasts until then, and no other one ends it before. */
static inline void sim_lasts(int64_t *until_ns, int64_t ns)
{
	if (*until_ns < ns)
		*until_ns = ns;
}

struct sim_process *sim_process_of(uint32_t process);
int64_t sim_now_ns(void);

/* A number below `below`, of this world's seed. */
uint64_t sim_draw(uint64_t below);

/* Faults.  _reset breaks one connection of the process; 0: it has none. */
void sim_kill(uint32_t process, enum sim_end how);

/*
 * Of the first n processes those that are stopped for ever go when nobody is
 * left to wait for them.
 */
void sim_release(uint32_t n);
int sim_reset(uint32_t process);

/* What goes from one host to the other, or back, arrives then, or SIM_NEVER. */
void sim_cut(uint32_t a, uint32_t b, int64_t until_ns);

/*
 * From now on the first packet of some connections is lost; TCP sends it again
 * after a second.
 */
void sim_lose_first_packets(void);

/* The last port that it was given; -1: none. */
int sim_port_of(uint32_t process);

/*
 * wrap_link.c: memory that has a descriptor is real, and who is killed leaves
 * it open; this closes all of it at the end of a world.
 */
void sim_memory_close_left(void);

/* sched.c, for net.c and wrap.c. */
struct sim_wait {
	int (*is_over)(const void *arg); /* NULL: only time ends it */
	const void *arg;
	int64_t deadline_ns;
};
int sim_is_inside(void);
uint32_t sim_self(void);
void sim_maybe_switch(void);
int sim_wait(const struct sim_wait *wait); /* 0: the deadline has come */

/* net.c: file descriptors; errors as the C library has them. */
void sim_net_begin(void);
void sim_net_end_of(uint32_t process, enum sim_end how);
int64_t sim_net_next_ns(void);
uint32_t sim_net_open(uint32_t process);
int sim_net_reset(uint32_t process);
int sim_is_fd(int fd);
int sim_socket(int family);
int sim_eventfd(void);
int sim_dup(int fd);
int sim_bind(int fd, const struct sockaddr *name, socklen_t len);
int sim_listen(int fd);
int sim_accept(int fd);
int sim_connect(int fd, const struct sockaddr *name, socklen_t len);
ssize_t sim_read(int fd, void *bytes, size_t len);
ssize_t sim_write(int fd, const void *bytes, size_t len);
void sim_fill(int fd, int64_t until_ns); /* it takes no more bytes before */
int sim_poll(struct pollfd *polls, nfds_t n, int timeout_ms);
int sim_shutdown(int fd);
int sim_close(int fd);
int sim_error_of(int fd);
int sim_name(int fd, int peer, struct sockaddr *name, socklen_t *len);

/*
 * seeds.c: run worlds of -n seeds from -s on, with -f until one is bad, each
 * told of with -v; `run` returns 1 for a bad one.  Returns the exit status; the
 * report gets a line at the end.
 */
int sim_seeds(int argc, char **argv, FILE *report,
	      int (*run)(uint64_t seed, int verbose));

#endif
