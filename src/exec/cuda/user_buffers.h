/*
 * Callers' buffers.  All processes meet when they register some, and never for
 * an operation: by contract the buffers of all ranks lie at the same place in
 * registrations of the same number, so each rank knows from its own where the
 * others' are.  The ledger finds who breaks that.
 *
 * All functions but those that say so belong to the engine's thread, or to
 * whoever takes its place.
 */
#ifndef GT_EXEC_CUDA_USER_BUFFERS_H
#define GT_EXEC_CUDA_USER_BUFFERS_H

#include "exec/cuda/ledger.h"
#include "exec/cuda/registration.h"

/* A process's slot in memory that all of a host share; zeros first. */
struct gt_exchange_slot {
	uint64_t quiet; /* it has failed, and nothing runs any more */
	struct gt_ledger ledger;
};

struct gt_exchange_area {
	struct gt_exchange_slot slots[1]; /* [processes] */
};

int gt_user_buffers_open(struct gt_engine *engine, struct gt_err *err);

/* Close everything, before the last meeting; forget the own registrations. */
void gt_user_buffers_close(struct gt_engine *engine);

/*
 * After a failure: nothing of this process runs any more, nor, soon, of what
 * reaches its memory by the same addresses (engine->same).
 */
void gt_user_buffers_quiet(struct gt_engine *engine);

/* GT_EINPUT unless the bytes are memory of the rank's GPU. */
int gt_cuda_owns(const struct gt_engine *engine, uint32_t rank,
		 const void *buffer, uint64_t bytes, struct gt_err *err);

/*
 * GT_EINPUT also if the buffer is registered already.  In several processes all
 * ranks' n-th ones belong together: the last rank of each to come meets the
 * others.
 */
int gt_cuda_register(struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err);

/*
 * Take back what was registered, without waiting for those that have it open.
 * GT_EINPUT if there is no such registration.
 */
int gt_cuda_deregister(struct gt_engine *engine, uint32_t rank,
		       const void *buffer, struct gt_err *err);

/*
 * Find where all ranks' buffers lie.  *opened: in registrations that all have
 * opened?  Then they are as gt_user_buffers_seen_by() has them.  GT_EINPUT if
 * ranks of this process do not agree.
 */
int gt_user_buffers_find(struct gt_engine *engine,
			 const struct gt_exec_request *req,
			 struct gt_registered_place *place, int *opened,
			 struct gt_err *err);

/* [rank]: where a local rank sees the buffers of all ranks. */
const struct gt_buffers *gt_user_buffers_seen_by(const struct gt_engine *engine,
						 uint32_t viewer);

/*
 * Is there anything to close?  For any thread; gt_registrations_close_left()
 * does so, and may wait for the GPU.
 */
int gt_user_buffers_release_due(const struct gt_engine *engine);

#endif
