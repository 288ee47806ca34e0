/*
 * One rank's operations of a group, on their streams.  A communicator's
 * operations follow each other, whatever streams they are called for: streams
 * of one group are joined before it and all behind it, and the next one waits
 * for the one before.
 */
#ifndef GT_NCCL_LAUNCH_H
#define GT_NCCL_LAUNCH_H

#include "nccl/face.h"

struct gt_launch_op {
	struct gt_backend_op op;
	void *stream;
};

/*
 * Whether they may be launched, which changes nothing: a group is asked as a
 * whole before any of it is.
 */
gt_nccl_result gt_launch_may(struct gt_face *face,
			     const struct gt_launch_op *ops, uint32_t n,
			     const char *call);

/* Whether their streams allow it, where the group has more than one. */
gt_nccl_result gt_launch_may_on(struct gt_face *face,
				const struct gt_launch_op *ops, uint32_t n,
				const char *call);

/*
 * Those that may be; returns as soon as they are on the streams.  What fails
 * before any is, or goes with a capture that was invalidated, leaves the
 * communicator as it was.
 */
gt_nccl_result gt_launch(struct gt_face *face, const struct gt_launch_op *ops,
			 uint32_t n, const char *call);

#endif
