/*
 * Ranks in several processes, any number in each, that share nothing but a
 * unique id.  One program includes it once.
 */
#ifndef GT_TESTS_NCCL_PROCESSES_H
#define GT_TESTS_NCCL_PROCESSES_H

#include "nccl/client.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PROCESSES_MOST = 4 };

struct process {
	pid_t pid;
	int door; /* the id comes through it */
};

static _Atomic int *arrivals; /* at gates; all processes' */
static int gates;             /* that this process has come to */

/*
 * Waits until all of n processes have come.  An operation does not do that: one
 * that is over here may be under way elsewhere, and fails there when this
 * process dies.
 */
static inline void gate(int n)
{
	int wanted = ++gates * n;

	atomic_fetch_add(arrivals, 1);
	while (atomic_load(arrivals) < wanted)
		usleep(200);
}

/* What a process does, with its number, of how many. */
typedef void process_body(int p, int n, const id_t128 *id);

/* All are forked before there is a thread, and wait for the id. */
static inline void fork_all(struct process *all, int n, process_body *body)
{
	int ends[2];
	id_t128 id;

	fflush(NULL);
	for (int p = 0; p < n; p++) {
		IS(!pipe(ends));
		all[p].pid = fork();
		IS(all[p].pid >= 0);
		if (!all[p].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ends[1]);
			IS(read(ends[0], &id, sizeof(id)) == sizeof(id));
			body(p, n, &id);
			exit(0);
		}
		close(ends[0]);
		all[p].door = ends[1];
	}
}

/* Memory of all processes that are forked from now on. */
static inline void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	IS(memory != MAP_FAILED);
	return memory;
}

static inline void die(void)
{
	kill(getpid(), SIGKILL);
}

/* What the process does that has made the id, before it tells it; or NULL. */
static void (*maker_begins)(void);

/*
 * The id is made by a process that has no rank, as servers of rendezvous do.
 * `killed` is the process that will kill itself, or -1.
 */
static inline void run_all(int n, int killed, process_body *body)
{
	struct process all[PROCESSES_MOST];
	id_t128 id;
	int status;
	pid_t maker;

	arrivals = share(sizeof(*arrivals));
	fork_all(all, n, body);
	maker = fork();
	if (!maker) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		OK(ncclGetUniqueId(&id));
		if (maker_begins)
			maker_begins();
		for (int p = 0; p < n; p++)
			IS(write(all[p].door, &id, sizeof(id)) == sizeof(id));
		pause();
	}
	for (int p = 0; p < n; p++) {
		close(all[p].door);
		IS(waitpid(all[p].pid, &status, 0) == all[p].pid);
		IS(p == killed ? WIFSIGNALED(status) : status == 0);
	}
	kill(maker, SIGKILL);
	IS(waitpid(maker, &status, 0) == maker);
	munmap((void *)arrivals, sizeof(*arrivals));
}

/* All ranks add up. */
static inline void meet(void *comm, int n)
{
	int32_t in = 1, out = 0;

	OK(ncclAllReduce(&in, &out, 1, INT32, SUM, comm, NULL));
	sim_stream_sync(NULL);
	IS(out == n);
}

#endif
