/*
 * Communicators for those who know the plan and the job's processes already,
 * instead of a file and a launcher: src/nccl.
 */
#ifndef GT_LIB_EMBED_H
#define GT_LIB_EMBED_H

#include "gtopo.h"

struct gt_err;
struct gt_plan;
struct gt_world_config;

typedef void gt_comm_teller(void *none, int warning, const char *text);

/*
 * As gtopo_comm_create() with GTOPO_NONBLOCKING, but that neither the plan's
 * file nor `beside` of the configuration is looked at.  It takes the plan and
 * job->listen_fd, also where it fails.  An abort ends the wait for the job's
 * other processes as well.  What the engine has to tell goes to `tell`.
 */
int gt_comm_embed(const struct gtopo_config *config, struct gt_plan *plan,
		  const struct gt_world_config *job, gt_comm_teller *tell,
		  struct gtopo_comm **comm, struct gt_err *err);

/*
 * Wait until it is made, and say how that went.  It is aborted when *stop is
 * set meanwhile; stop may be NULL.
 */
int gt_comm_ready(struct gtopo_comm *comm, const _Atomic int *stop,
		  struct gt_err *err);

/*
 * Why the communicator's operations end: GT_OK while they do not, or the code
 * and the words; *lost is set if another process is gone, or said so.
 */
int gt_comm_verdict(struct gtopo_comm *comm, int *lost, struct gt_err *err);

#endif
