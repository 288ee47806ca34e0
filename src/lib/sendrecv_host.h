/*
 * Messages of ranks on the host.  Called by the communicator's thread with the
 * mutex held, which is let go while bytes move.
 */
#ifndef GT_LIB_SENDRECV_HOST_H
#define GT_LIB_SENDRECV_HOST_H

#include "lib/state.h"

/* Move what both sides have come to; 0: there was nothing. */
int gt_sendrecv_move(struct gtopo_comm *comm);

/*
 * Sleep until something changes or until_ns (INT64_MAX: no limit), or fail the
 * communicator when messages that are next have not got on within its timeout.
 */
void gt_sendrecv_sleep(struct gtopo_comm *comm, int64_t until_ns);

#endif
