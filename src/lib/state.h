/*
 * Inside a communicator.
 *
 * Callers queue operations, each rank its own; one thread makes the engine.
 * On the host that thread then runs operation after operation, each when all
 * ranks have called it.  On GPUs whoever calls last puts the operation on all
 * ranks' streams, and the thread watches for failures (lib/launch.h).
 *
 * The mutex guards everything that several threads write.  The thread that
 * takes an operation off the queues does not hold it while the operation runs
 * or is launched; what it reads then (plan, engine, the operation's calls)
 * nobody else touches.
 */
#ifndef GT_LIB_STATE_H
#define GT_LIB_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "exec/engine.h"
#include "gtopo.h"
#include "world/world.h"

struct gt_batch;
struct gt_message_queue;
struct gt_plan;
struct gt_relays;
struct gt_remote;

/* A rank's part of a collective, or a batch of its messages. */
struct gt_call {
	struct gt_call *next;
	struct gt_batch *batch;     /* NULL: a collective */
	struct gt_exec_request req; /* its buffers are the two below */
	const void *input;
	void *output;
	void *stream;
	uint32_t group; /* calls of its group from this one on; alone: 1 */
	struct gt_scalar scalar; /* GT_REDOP_PREMUL */
};

struct gt_queue {
	struct gt_call *first, **last;
};

/* Memory that gtopo_register() was told of. */
struct gt_region {
	struct gt_region *next;
	const void *buffer;
	size_t bytes;
};

/* An operator that the rank made by gtopo_op_create_premul(). */
struct gt_premul {
	int used;
	enum gt_dtype type;
	struct gt_scalar scalar;
};

struct gt_comm_rank {
	struct gt_queue called; /* calls that nobody has taken off yet */
	struct gt_queue held;   /* collectives of the group that is open */
	struct gt_batch *batch; /* its messages; they start behind the others */
	int in_group;
	int refused; /* why the open group must not start, or GT_OK */
	/* Why an operation that all ranks had called was not done, until the
	 * rank is told; GT_OK: there is none. */
	int not_done;
	/* How many collectives, and batches, were called and are done; on GPUs
	 * they are done when they are on the streams. */
	uint64_t ncalled, ndone;
	uint64_t nbatches, nbatches_done;
	char *relayed; /* host: what it passes on, of the batch that is next */
	uint64_t relayed_room;
	void *stream; /* of the calls to come */
	struct gt_region *regions;
	struct gt_premul *premuls; /* [npremuls] */
	uint32_t npremuls, room;
};

/*
 * A child communicator: one of the same job that is made beside this one.
 * This one's thread finds a port for it, between two operations that all
 * processes agree on.  It lies in the child, which waits for `done`.
 */
struct gt_spawn {
	struct gt_spawn *next;
	uint64_t after; /* it is due when so many operations are done */
	uint16_t port;
	int listen_fd; /* process 0 */
	int busy, done, rc;
	struct gt_err err;
	struct gt_err refusal; /* why there is none here; "": there is one */
};

struct gtopo_comm {
	struct gt_plan *plan;
	const struct gt_engine_ops *ops;
	struct gt_engine *engine; /* the launch protocol says who may use it */
	int engine_busy;          /* a thread uses it without the mutex */
	struct gt_engine_config config;
	struct gt_notice notice; /* of who embeds it (lib/embed.h) */
	/*
	 * Host: since when some ranks, but not all, have called the next
	 * collective; 0: none has, or all.
	 */
	int64_t partial_since_ns;
	unsigned *verified; /* [root]: collectives that were simulated, bits */
	/* The operations that run now, and for each [nranks] of the others. */
	struct gt_exec_request *reqs;
	/* GPUs: the last one that plan and engine were asked whether they do
	 * it, if they do; what is like it need not be asked for. */
	struct gt_exec_request taken;
	int has_taken;
	struct gt_buffers *buffers;
	struct gt_scalar *scalars;
	uint32_t room;            /* operations that there is memory for */
	void **streams;           /* [nranks] */
	struct gt_remote *remote; /* the thread's; NULL: one process, or GPUs */
	/* How all-to-alls go through other ranks, once it is made; NULL: they
	 * do not. */
	struct gt_relays *relays;
	uint64_t pass; /* of the thread over messages, from 2 on */
	struct gt_message_queue *messages; /* [sender][receiver]; NULL: none
					      was called yet */

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	_Atomic int interrupt; /* the engine looks at it */
	int state;             /* GTOPO_IN_PROGRESS, _OK or an error */
	int was_made;          /* whatever has come since */
	int quit;
	int lost; /* the job had ended when operations did */
	struct gt_err err;
	struct gt_err refusal; /* of the last call that was refused */
	uint32_t nranks;
	uint32_t first, end; /* the ranks of this process */
	uint32_t *starts;    /* of all processes; NULL: as even as can be */
	uint32_t *origins;   /* [nranks], where it was shrunk from another */
	/* What it was shrunk from first, and its ranks' numbers there; NULL:
	 * nothing was, or it is itself. */
	struct gt_base *base;
	uint32_t *based; /* [nranks] */
	int has_ended;   /* nothing uses callers' buffers any more */
	struct gt_comm_rank *ranks;
	struct gt_world_config job;
	struct gt_world *world;     /* NULL: the process is alone */
	struct gt_spawn *spawns;    /* children that are to be made, in order */
	struct gtopo_comm *sibling; /* where `spawn` is queued; NULL: nowhere */
	struct gt_spawn spawn;      /* this one's own */
};

/* The code that the library's caller gets for a code of the program. */
int gt_comm_code(int rc);

/* Is it a rank of this process? */
int gt_comm_is_rank(const struct gtopo_comm *comm, int rank);

/* gt_comm_refuse() for who does not hold the mutex. */
int gt_comm_refuse_words(struct gtopo_comm *comm, const char *words);

/*
 * All that follow are called with the mutex held.
 */

/* Note the first failure, and wake whoever waits. */
void gt_comm_fail(struct gtopo_comm *comm, int rc, const struct gt_err *err);

/*
 * A call is refused, which changes nothing else: keep the words, and return
 * GTOPO_EINPUT.
 */
int gt_comm_refuse(struct gtopo_comm *comm, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A call failed with these words, which changes nothing else: keep them, and
 * return the caller's code.
 */
int gt_comm_keep_words(struct gtopo_comm *comm, int rc,
		       const struct gt_err *err);

/* gt_comm_refuse() where a GPU could not read or write elements. */
int gt_comm_refuse_unaligned(struct gtopo_comm *comm, int rank);

/* Refuse a rank that is not one of this process; else GTOPO_OK. */
int gt_comm_check_rank(struct gtopo_comm *comm, int rank);

/*
 * The code of an operation that the rank, or one of GTOPO_ALL_RANKS, has called
 * and that was not done, and forget it; else GTOPO_OK.
 */
int gt_comm_tell_not_done(struct gtopo_comm *comm, int rank);

/* Wait until the communicator has been made or has failed; its state. */
int gt_comm_await_open(struct gtopo_comm *comm);

/* Is all done that the rank, or GTOPO_ALL_RANKS, has called? */
int gt_comm_is_done(const struct gtopo_comm *comm, int rank);

/* Sleep until something changes; 1: until_ns (base/clock.h) has come. */
int gt_comm_sleep(struct gtopo_comm *comm, int64_t until_ns);

/*
 * redop.c: replace the number of an operator that the rank has made by what it
 * stands for; GTOPO_EINPUT if there is none for the call's type.
 */
int gt_redop_resolve(struct gtopo_comm *comm, int rank, struct gt_call *call);

/*
 * thread.c: the start routine of the communicator's thread, which takes the
 * mutex itself; arg is the communicator.  lib/launch.h says what it may do
 * when.
 */
void *gt_thread_main(void *arg);

#endif
