/*
 * Messages between processes, of ranks on the host.  Used by the communicator's
 * thread only.
 */
#ifndef GT_LIB_SENDRECV_REMOTE_H
#define GT_LIB_SENDRECV_REMOTE_H

#include "lib/state.h"

/* All processes open together.  Closing is allowed after any failure. */
int gt_remote_open(struct gtopo_comm *comm, struct gt_err *err);
void gt_remote_close(struct gtopo_comm *comm);

/*
 * Move what goes now of a message of the rank, which must be the first of its
 * pair that is not done: 1 when all of it has moved.  *moved is set if any has.
 */
int gt_remote_move(struct gtopo_comm *comm, uint32_t rank,
		   const struct gt_message *message, int *moved,
		   struct gt_err *err);

/*
 * While the thread attends it carries slices itself, by gt_remote_progress();
 * otherwise the links' proxies do.
 */
void gt_remote_attend(struct gtopo_comm *comm, int attends);
void gt_remote_progress(struct gtopo_comm *comm);

/* Is the rank on this host? */
int gt_remote_is_here(const struct gtopo_comm *comm, uint32_t rank);

/* GT_OK while the other processes, and the links to them, are there. */
int gt_remote_check(struct gtopo_comm *comm, struct gt_err *err);

#endif
