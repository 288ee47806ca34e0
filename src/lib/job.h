/*
 * A communicator in a job of several processes: how it finds the others, how
 * they agree on what they do, and how a child communicator of the same
 * processes is made (gtopo_config.beside).
 */
#ifndef GT_LIB_JOB_H
#define GT_LIB_JOB_H

#include "lib/state.h"

/*
 * Before the thread: find the job that a launcher made, or join the one of a
 * sibling communicator, whose thread then makes this one's connections.
 * Which ranks are here follows from it.
 */
int gt_job_find(struct gtopo_comm *comm, struct gt_err *err);
int gt_job_join(struct gtopo_comm *comm, struct gtopo_comm *sibling,
		struct gt_err *err);

/* Which of the plan's ranks are this process's; GT_EINPUT: too few for all. */
int gt_job_place(struct gtopo_comm *comm, struct gt_err *err);

/*
 * In the place of _open(), where this process cannot come: tell the others of
 * the job, which a launcher made if it has not been found yet.
 */
void gt_job_decline(struct gt_world_config *job, int64_t timeout_ns,
		    const struct gt_err *err);

/*
 * As _decline(), of a child that others make beside the sibling: its thread
 * tells them, and this waits for it.
 */
void gt_job_decline_beside(struct gtopo_comm *comm, struct gtopo_comm *sibling,
			   const struct gt_err *err);

/* Release what is left of either when the thread has ended or never began. */
void gt_job_forget(struct gtopo_comm *comm);

/*
 * The thread's.  All processes meet, and have the same version and plan.  They
 * leave together, or are told why not, before anything is freed that others
 * may look for; then the connections are closed.
 */
int gt_job_open(struct gtopo_comm *comm, struct gt_err *err);
void gt_job_leave(struct gtopo_comm *comm);
void gt_job_close(struct gtopo_comm *comm);

/* All processes have the same text here, or GT_EINPUT. */
int gt_job_agree(struct gtopo_comm *comm, const char *text, struct gt_err *err);

/* With the mutex held: the child that is to be made now, or NULL. */
struct gt_spawn *gt_job_spawn_due(const struct gtopo_comm *comm);

/* All processes agree on a port for the child; spawn->err says why not. */
int gt_job_spawn(struct gtopo_comm *comm, struct gt_spawn *spawn);

#endif
