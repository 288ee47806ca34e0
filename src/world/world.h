/*
 * The processes of one job: who they are, that they are alive, and meetings:
 * rounds in which each process tells something and hears what all told.
 *
 * Process 0 listens; the others connect to it and nothing else.  A thread of
 * its own in each process keeps the connections, so a process is heard of while
 * it computes.  One that falls silent, hangs up or gives up ends the job for
 * all, by name, within the time limit; nobody waits longer.
 *
 * Functions may be called from one thread at a time, gt_world_failed(),
 * gt_world_progress() and gt_world_abort() from any.  Those that need all
 * processes are called by all of them, in the same order.
 */
#ifndef GT_WORLD_WORLD_H
#define GT_WORLD_WORLD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "world/auth.h"
#include "world/net.h"

struct gt_err;
struct gt_world;

enum {
	GT_WORLD_NAME_MAX = 96,
	GT_WORLD_PART_MOST_BYTES = 4 << 20,
};

struct gt_world_config {
	uint32_t rank, size; /* the process's, and how many there are */
	char name[GT_WORLD_NAME_MAX];  /* for messages: "node3, pid 77" */
	struct gt_net_address address; /* where process 0 listens */
	int listen_fd; /* process 0: its socket, which is taken; else ignored */
	struct gt_secret secret;
	int64_t timeout_ns;
	/*
	 * Another process waits for all of them, and tells which were killed.
	 */
	int has_parent;
	/*
	 * The job may be regrouped: each process keeps a door open for that,
	 * which is a file more.
	 */
	int has_door;
	/*
	 * Process 0 listens since before the others knew where: once it does
	 * so no more, it is gone, and nobody waits for it.
	 */
	int is_listening;
	/*
	 * NULL, or a flag that the user has interrupted this process, which
	 * ends the job for all while it waits for others.
	 */
	const _Atomic int *interrupt;
	/*
	 * NULL, or the end flag of the job that this one is made from: who has
	 * gone from that one does not come, and process 0 waits no longer.  It
	 * is read until _open() returns.
	 */
	const _Atomic int *origin_end;
	/*
	 * Process 0: another one that may end before it comes, of which nobody
	 * else would tell, and a connection that ends with it; 0: there is
	 * none.  It is borrowed until _open() returns, and looked at only.
	 */
	uint32_t herald;
	int herald_fd;
};

/* The bytes that one process told in a meeting. */
struct gt_world_part {
	const void *bytes;
	size_t len;
};

/*
 * Join the job, and wait within the time limit until all have. config is
 * copied.  GT_ESYS names who did not come; beside a parent only where
 * gt_world_reports_failure(), else *err is empty.
 */
int gt_world_open(const struct gt_world_config *config, struct gt_world **world,
		  struct gt_err *err);

/*
 * In the place of _open(), where this process cannot come into the job: tell
 * the others why, so that they do not wait for it.  Takes listen_fd; nobody
 * waits for long.
 */
void gt_world_decline(const struct gt_world_config *config, const char *why);

/*
 * Whether this process may open as many files as its part of the job takes;
 * what runs out of them later cannot always tell.
 */
int gt_world_check_files(const struct gt_world_config *config,
			 struct gt_err *err);

/*
 * Leave the job.  Unless it has failed, all processes leave together after a
 * last round.  NULL is allowed.
 */
void gt_world_close(struct gt_world *world);

/* As _close(), of one that has failed; nobody waits for anybody. */
void gt_world_abandon(struct gt_world *world);

/*
 * A world came last of a regrouping and is not used; it is still to be closed.
 * Others may not have heard that it has begun, or may go on from it, so the
 * next one has its number.
 */
void gt_world_take_back(struct gt_world *world, const struct gt_world *next);

uint32_t gt_world_rank(const struct gt_world *world);
uint32_t gt_world_size(const struct gt_world *world);

/* The time limit of the configuration. */
int64_t gt_world_timeout_ns(const struct gt_world *world);

/*
 * How long a process that sees a connection break waits to hear who has gone
 * before it reports a failure of its own; that is soon enough for the time
 * limit.
 */
int64_t gt_world_grace_ns(const struct gt_world *world);

/*
 * The name of a process for messages: "process 3 (node3, pid 77)".  It is
 * borrowed.
 */
const char *gt_world_name(struct gt_world *world, uint32_t rank);

/* The job's secret, for connections of other kinds.  It is borrowed. */
const struct gt_secret *gt_world_secret(const struct gt_world *world);

/*
 * Tell `len` bytes and hear what all told: parts[size], valid until the next
 * round.  With parts NULL it is a barrier.  All processes call it equally
 * often.
 */
int gt_world_allgather(struct gt_world *world, const void *bytes, size_t len,
		       struct gt_world_part *parts, struct gt_err *err);

/*
 * Agree on how all processes fare, this one with `rc`.  Where some have
 * GT_EINPUT all end with that and the words of one of them, however quickly the
 * job is given up then; another failure is returned at once.
 */
int gt_world_agree(struct gt_world *world, int rc, struct gt_err *err);

/* Add up a number of each process, or find the largest: all get the result. */
int gt_world_sum(struct gt_world *world, uint64_t *number, struct gt_err *err);
int gt_world_max(struct gt_world *world, uint64_t *number, struct gt_err *err);

/* End the job for all; the first reason counts. */
void gt_world_abort(struct gt_world *world, const char *why);

/* End it with the words of a failure, its place before them. */
void gt_world_abort_for(struct gt_world *world, const struct gt_err *err);

/*
 * Whether it is for this process to tell the user why the job has failed:
 * process 0 does, which all tell.  When that is gone, or silent, the first on
 * each host does, whose cable may be the one, and unless the processes have a
 * parent the first few of all: the next one may be gone as well.
 */
int gt_world_reports_failure(const struct gt_world *world);

/* GT_OK, or GT_ESYS and why the job has ended; cheap. */
int gt_world_failed(struct gt_world *world, struct gt_err *err);

/*
 * A flag that is set as soon as the job has ended; it lives as long as the
 * world.
 */
const _Atomic int *gt_world_end_flag(const struct gt_world *world);

/* As the job was opened, address and secret included.  It is borrowed. */
const struct gt_world_config *gt_world_config(const struct gt_world *world);

/* How those that are left of a job find each other. */
struct gt_regroup {
	const uint8_t *excluded; /* [size] who does not come; NULL: nobody */
	/* for one that is there, but late; it takes three times at most */
	int64_t timeout_ns;
	/* NULL, or set when nobody wants it any more; the new job's, too */
	const _Atomic int *stop;
};

/*
 * Those that are left of a job form a new one, whether it has failed or not:
 * all that are there and not excluded call it, and the old world stays theirs
 * to close.  left[] has room for all processes and gets the old numbers of the
 * new ones; *next is NULL where this process is alone.
 *
 * A process is gone when its host says that nobody listens at its door.  Others
 * that are not reached may go on somewhere else; so those that are left must be
 * more than these, or as many with the first of all, else GT_ESYS.
 */
int gt_world_regroup(struct gt_world *world, const struct gt_regroup *how,
		     struct gt_world **next, uint32_t *left, uint32_t *nleft,
		     struct gt_err *err);

/* Note a number that changes while this process gets on with its work. */
void gt_world_progress(struct gt_world *world, uint64_t progress);

#endif
