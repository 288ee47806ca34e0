/*
 * What carries out a communicator's operations, for one rank: this table is all
 * that the face knows of it.
 *
 * A rank's call enqueues its own work on its own stream, and waits for nobody:
 * neither for other ranks of the process, nor for their calls.  Operations of a
 * communicator never overlap on its streams; the face sees to that.
 */
#ifndef GT_NCCL_BACKEND_H
#define GT_NCCL_BACKEND_H

#include <stdint.h>

#include "base/dtype.h"
#include "nccl/cuda.h"

struct gt_backend_comm;
struct gt_err;
struct gt_team;

enum gt_backend_kind {
	GT_BACKEND_ALLREDUCE,
	GT_BACKEND_BROADCAST,
	GT_BACKEND_REDUCE,
	GT_BACKEND_ALLGATHER,
	GT_BACKEND_REDUCESCATTER,
	GT_BACKEND_SEND,
	GT_BACKEND_RECV,
};

/* One operation of one rank. */
struct gt_backend_op {
	enum gt_backend_kind kind;
	const void *input;
	void *output;
	uint64_t count; /* elements of a block; 0 in messages only */
	enum gt_dtype dtype;
	enum gt_redop redop;
	struct gt_scalar scalar; /* of GT_REDOP_PREMUL */
	uint32_t peer;           /* the root, or a message's other rank */
};

struct gt_backend {
	const char *name;

	/*
	 * Begin to make this rank's communicator of a team, which is the
	 * caller's and must outlive it; all ranks do so.  Returns before the
	 * others have come, and where it fails it ends the team.
	 */
	int (*start)(struct gt_team *team, const struct gt_cuda *cuda,
		     struct gt_backend_comm **comm, struct gt_err *err);

	/* Wait until it is made, has failed or is aborted. */
	int (*await)(struct gt_backend_comm *comm, struct gt_err *err);

	/*
	 * An operator was made of a scalar: make the memory that operations
	 * with such need.
	 */
	int (*prepare_premul)(struct gt_backend_comm *comm, struct gt_err *err);

	/*
	 * Put operations that start together on the stream, and return.  What
	 * fails later shows in state().  GT_ENO: the stream's capture was
	 * invalidated meanwhile; nothing of them is left.
	 */
	int (*enqueue)(struct gt_backend_comm *comm,
		       const struct gt_backend_op *ops, uint32_t n,
		       void *stream, struct gt_err *err);

	/*
	 * GT_OK, or why operations end; *lost is set when another rank is gone.
	 * Cheap, and never waits.  So abort(), after which all ends soon.
	 */
	int (*state)(struct gt_backend_comm *comm, int *lost,
		     struct gt_err *err);
	void (*abort)(struct gt_backend_comm *comm);

	/*
	 * Are operations of this rank under way?  The event is behind all that
	 * was put on streams; NULL: nothing was.
	 */
	int (*is_busy)(struct gt_backend_comm *comm, void *behind);

	/*
	 * End when all operations are done and all ranks close, or after an
	 * abort or a failure; the event is as above.  Nothing else is called
	 * any more.
	 */
	void (*close)(struct gt_backend_comm *comm, void *behind);
};

extern const struct gt_backend gt_backend_lib; /* on libgtopo */

#endif
