/*
 * How a process makes a job on this host without a launcher: it forks the
 * others.
 */
#ifndef GT_WORLD_FORK_H
#define GT_WORLD_FORK_H

#include <stdint.h>

#include "world/world.h"

struct gt_err;

/*
 * Fork `size` processes.  In each of them *parent is 0 and *config is filled
 * in, except timeout_ns: process 0 listens on the loopback interface, and the
 * secret was never outside.  In the caller *parent is 1 and all have ended:
 * GT_OK when all of them exited with 0, else the code of the highest status;
 * err has words only when no process could say any.  SIGINT and SIGTERM are
 * passed on to them; they die with their parent.
 *
 * It must be called while the process has one thread.
 */
int gt_fork_job(uint32_t size, struct gt_world_config *config, int *parent,
		struct gt_err *err);

#endif
