/*
 * Groups.  Each thread has one open or none; it nests, and whatever is called
 * in between, for any communicators and streams, starts at the outermost end.
 * A call outside of a group is a group of its own.
 */
#ifndef GT_NCCL_GROUP_H
#define GT_NCCL_GROUP_H

#include "nccl/face.h"
#include "nccl/task.h"

void gt_group_open(void);

/* GT_NCCL_IN_PROGRESS where a communicator that does not block has tasks. */
gt_nccl_result gt_group_close(const char *call);

/* End the group, and start nothing. */
gt_nccl_result gt_group_cancel(const char *call);

/* A call of the open group was refused: none of it will start. */
gt_nccl_result gt_group_refuse(gt_nccl_result result);

/* Close the group that a call opened for itself; the call's result. */
gt_nccl_result gt_group_return(gt_nccl_result result, const char *call);

/*
 * A call that opens no group for itself was refused: one that is open will not
 * start.
 */
gt_nccl_result gt_group_refuse_call(gt_nccl_result result, const char *call);

/* Add a task, which is taken, to the open group. */
void gt_group_add_task(struct gt_task *task);

/* Add an operation of a rank; takes the reference to the face. */
gt_nccl_result gt_group_add_op(struct gt_face *face,
			       const struct gt_backend_op *op, void *stream);

#endif
