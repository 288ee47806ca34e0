/*
 * Inside a communicator: a queue a rank, and one thread that makes the engine.
 * On the host it then runs operation after operation, each when all ranks have
 * called it.  On GPUs whoever calls last puts the operation on all ranks'
 * streams, and the thread looks whether something failed (stream.c).
 *
 * The mutex guards all that several threads write.  The thread that takes an
 * operation off the queues does not hold it while that runs or is launched;
 * what it reads then (plan, engine, the operation's calls) nobody else touches.
 */
#ifndef GT_LIB_COMM_H
#define GT_LIB_COMM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "exec/engine.h"
#include "gtopo.h"
#include "world/world.h"

struct gt_plan;

struct gt_mail;
struct gt_pair;

/* A rank's messages that start together: one call, or all of a group. */
struct gt_batch {
	struct gt_message *messages;
	uint8_t *states; /* host: enum gt_message_state */
	uint32_t n, room, left;
	int64_t since_ns; /* host: it last got on; 0: not at the head yet */
};

/* A rank's part of an operation, or its messages. */
struct gt_call {
	struct gt_call *next;
	struct gt_batch *batch;     /* NULL: a collective */
	struct gt_exec_request req; /* the buffers are beside it */
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

/* An operator that the rank made. */
struct gt_own_op {
	int used;
	enum gt_dtype type;
	struct gt_scalar scalar;
};

struct gt_comm_rank {
	struct gt_queue called; /* not yet taken by the thread */
	struct gt_queue held;   /* of the group that is open */
	struct gt_batch *batch; /* the same; messages start behind the others */
	int in_group;
	int refused; /* why the open group must not start, or GT_OK */
	uint64_t ncalled, ndone;          /* GPUs: done is on the streams */
	uint64_t nbatches, nbatches_done; /* the same of messages */
	void *stream;                     /* of the calls to come */
	struct gt_region *regions;
	struct gt_own_op *ops; /* [nops] */
	uint32_t nops;
};

/*
 * A communicator of the same job, to be made: the other's thread finds it a
 * port, between two operations that all processes agree on.
 */
struct gt_birth {
	struct gt_birth *next;
	uint64_t after; /* operations */
	uint16_t port;
	int listen_fd; /* process 0 */
	int busy, done, rc;
	struct gt_err err;
};

struct gtopo_comm {
	struct gt_plan *plan;
	const struct gt_engine_ops *ops;
	struct gt_engine *engine; /* the thread's */
	struct gt_engine_config config;
	unsigned *verified; /* [root]: collectives as bits; the thread's */
	/* Of the operations that run; [nranks] each. */
	struct gt_exec_request *reqs;
	struct gt_buffers *buffers;
	struct gt_scalar *scalars;
	uint32_t room;         /* operations that there is memory for */
	void **streams;        /* [nranks] */
	struct gt_mail *mail;  /* the thread's; NULL: one process, GPUs */
	struct gt_pair *pairs; /* [sender][receiver], or NULL: unused */
	int launching;         /* GPUs: one of the callers is at it */

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	_Atomic int interrupt; /* the engine looks at it */
	int state;             /* GTOPO_IN_PROGRESS, _OK or an error */
	int quit;
	struct gt_err err;
	uint32_t nranks;
	uint32_t first, end; /* those of this process */
	struct gt_comm_rank *ranks;
	struct gt_world_config job;
	struct gt_world *world;    /* NULL: the process is alone */
	struct gt_birth *births;   /* of others, in order */
	struct gtopo_comm *beside; /* where the own one is; NULL: nowhere */
	struct gt_birth birth;
};

/*
 * thread.c: the thread; arg is the communicator.  With the mutex held:
 * _fail notes the first failure and tells whoever waits; _has_next says
 * whether all ranks have called an operation, which _next takes off the queues
 * and runs, without the mutex meanwhile; _bear does so for a communicator that
 * is made beside this one.
 */
void *gt_comm_main(void *arg);
void gt_comm_fail(struct gtopo_comm *comm, int rc, const struct gt_err *err);
int gt_comm_has_next(const struct gtopo_comm *comm);
void gt_comm_next(struct gtopo_comm *comm);
void gt_comm_bear(struct gtopo_comm *comm, struct gt_birth *birth);

/* A collective, from each root, is simulated before its first byte moves. */
int gt_comm_verify(struct gtopo_comm *comm, const struct gt_exec_request *req,
		   struct gt_err *err);

/*
 * comm.c: with the mutex held, is all that the rank (or all) has called done?
 * Sleep until something changed; 1: until_ns (base/clock.h) has come.
 */
int gt_comm_is_done(const struct gtopo_comm *comm, int rank);
int gt_comm_sleep(struct gtopo_comm *comm, int64_t until_ns);

/*
 * stream.c: with the mutex held, until the communicator is made, or
 * failed.  With the mutex held, the rank (or all) has called: on GPUs
 * until the calls are on the streams, and until they are done; the thread's
 * watch.  Without it, put the first n of `reqs` on the streams.
 */
int gt_comm_made(struct gtopo_comm *comm);
int gt_comm_called(struct gtopo_comm *comm, int rank);
int gt_comm_await(struct gtopo_comm *comm, int rank, int64_t until_ns);
void gt_comm_guard(struct gtopo_comm *comm);
int gt_comm_enqueue(struct gtopo_comm *comm, uint32_t n, struct gt_err *err);

/*
 * pair.c: messages.  With the mutex held: _post says that the rank's batch
 * is called, fails the communicator when it is not what a peer has called, and
 * queues it; _launch puts one that is next on its rank's stream, 0 if there is
 * none.  _free is NULL-safe.
 */
int gt_batch_post(struct gtopo_comm *comm, uint32_t rank,
		  struct gt_batch *batch);
int gt_batch_launch(struct gtopo_comm *comm);
void gt_batch_free(struct gt_batch *batch);
void gt_pairs_free(struct gtopo_comm *comm);

/*
 * copy.c: messages on the host.  With the mutex held: copy what both sides
 * have come to, 0 if there is nothing; sleep until something changed, or fail
 * the communicator when messages that are next have not got on for too long.
 */
int gt_batches_move(struct gtopo_comm *comm);
void gt_batches_sleep(struct gtopo_comm *comm);

/*
 * mail.c: the same between processes.  The thread's; _open is a meeting.
 * _move carries what it can of a message, which must be its pair's first that
 * is not done: 1 when all of it was; *moved is set if any was.  While the
 * thread _attends it carries slices itself, by _progress; otherwise proxies do.
 * _check is GT_OK while the others are there.
 */
int gt_mail_open(struct gtopo_comm *comm, struct gt_err *err);
void gt_mail_close(struct gtopo_comm *comm);
int gt_mail_move(struct gtopo_comm *comm, uint32_t rank,
		 const struct gt_message *message, int *moved,
		 struct gt_err *err);
void gt_mail_attend(struct gtopo_comm *comm, int attends);
void gt_mail_progress(struct gtopo_comm *comm);
int gt_mail_check(struct gtopo_comm *comm, struct gt_err *err);

/*
 * world.c: the other processes.  _find asks the launcher, _beside another
 * communicator, _forget drops what they gave; the thread then opens the world,
 * and agrees with the others on some words before each operation, GT_EINPUT
 * naming who says something else.  At the end it _leaves, when all do or telling
 * them why it failed, and closes the world behind whatever uses it.
 */
int gt_comm_world_find(struct gtopo_comm *comm, struct gt_err *err);
int gt_comm_world_beside(struct gtopo_comm *comm, struct gtopo_comm *other,
			 struct gt_err *err);
void gt_comm_world_forget(struct gtopo_comm *comm);
int gt_comm_world_open(struct gtopo_comm *comm, struct gt_err *err);
int gt_comm_world_agree(struct gtopo_comm *comm, const char *what,
			struct gt_err *err);
void gt_comm_world_leave(struct gtopo_comm *comm);
void gt_comm_world_close(struct gtopo_comm *comm);

/* The thread: the next birth, NULL if an operation comes first; do it. */
struct gt_birth *gt_comm_world_due(const struct gtopo_comm *comm);
int gt_comm_world_birth(struct gtopo_comm *comm, struct gt_birth *birth);

/* An error's code here and there: GT_ENO is an input that was wrong. */
int gt_comm_code(int rc);

/*
 * call.c: queue a copy of the call, or hold it for the rank's group.
 * Frees all calls of a queue.
 */
int gt_comm_call(struct gtopo_comm *comm, int rank, const struct gt_call *call);

/*
 * op.c: with the mutex held, what an operator of the rank's own stands
 * for; GTOPO_EINPUT if there is none of that number for the call's type.
 */
int gt_comm_op(const struct gtopo_comm *comm, int rank, struct gt_call *call);
int gt_comm_is_rank(const struct gtopo_comm *comm, int rank);
void gt_queue_add(struct gt_queue *queue, struct gt_call *call);
void gt_queue_free(struct gt_queue *queue);

#endif
