/*
 * An operation of all ranks: a collective, once each rank of this process has
 * called it.  Used only by whoever launches (lib/launch.h).
 */
#ifndef GT_LIB_OPERATION_H
#define GT_LIB_OPERATION_H

#include "lib/state.h"

enum { GT_OPERATION_TEXT_MAX = 200 };

/* With the mutex held: is a collective the next call of every rank? */
int gt_operation_is_ready(const struct gtopo_comm *comm);

/* With the mutex held: the next one in words, equal for equal operations. */
void gt_operation_describe(const struct gtopo_comm *comm,
			   char text[GT_OPERATION_TEXT_MAX]);

/*
 * With the mutex held: move the next n operations, which are one group, from
 * the ranks' queues to comm->reqs.  GT_EINPUT when ranks call different ones.
 */
int gt_operation_take(struct gtopo_comm *comm, uint32_t n, struct gt_err *err);

/*
 * Without the mutex: a collective, from each root, is simulated before its
 * first byte moves.
 */
int gt_operation_verify(struct gtopo_comm *comm,
			const struct gt_exec_request *req, struct gt_err *err);

#endif
