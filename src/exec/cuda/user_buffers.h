/*
 * Callers' buffers.  Each time processes have registered some they tell each
 * other where their buffers of an operation lie, in memory that they share:
 * that takes a microsecond behind the last call.  So all of them register
 * before the same operation.  Deregistering may wait for what runs on the
 * others' GPUs.
 *
 * All functions belong to the engine's thread, or to whoever takes its place.
 */
#ifndef GT_EXEC_CUDA_USER_BUFFERS_H
#define GT_EXEC_CUDA_USER_BUFFERS_H

#include "exec/cuda/registration.h"

/* A rank says this of an operation. */
struct gt_exchange_entry {
	struct gt_registered_offset input, output;
	uint64_t inplace;
};

/*
 * A process's slot in memory that all processes of a host share; zeros first.
 */
struct gt_exchange_slot {
	uint64_t meetings; /* that it has come to */
	uint64_t quiet;    /* it has failed, and nothing runs any more */
	/*
	 * It has requested a release so often, and of this registration last.
	 */
	uint64_t requests, number, rank;
	uint64_t released[GT_P2P_RANKS]; /* each process's requests so far */
};

struct gt_exchange_area {
	struct gt_exchange_slot slots[GT_P2P_RANKS];
	/* Meetings of even and of odd number have entries of their own. */
	struct gt_exchange_entry entries[2][GT_P2P_RANKS];
};

int gt_user_buffers_open(struct gt_engine *engine, struct gt_err *err);

/* Release everything, before the last meeting; forget the own registrations. */
void gt_user_buffers_close(struct gt_engine *engine);

/*
 * After a failure: nothing of this process runs any more, nor, soon, of what
 * reaches its memory by the same addresses (engine->same).
 */
void gt_user_buffers_quiet(struct gt_engine *engine);

/* GT_EINPUT unless the bytes are memory of the rank's GPU. */
int gt_cuda_owns(const struct gt_engine *engine, uint32_t rank,
		 const void *buffer, uint64_t bytes, struct gt_err *err);

/* GT_EINPUT also if the buffer is registered already. */
int gt_cuda_register(struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err);

/*
 * Take back what was registered: nobody has it open any more.  GT_EINPUT if
 * there is no such registration.
 */
int gt_cuda_deregister(struct gt_engine *engine, uint32_t rank,
		       const void *buffer, struct gt_err *err);

/* Has this process registered anything? */
int gt_user_buffers_exist(const struct gt_engine *engine);

/*
 * Wait until all processes have come to the request.  *opened: do all ranks'
 * buffers lie in registrations that all have opened?  Then they are as
 * gt_user_buffers_seen_by() has them, and req->inplace is for all ranks.
 * `opened` is NULL if nobody wants to know.
 */
int gt_user_buffers_exchange(struct gt_engine *engine,
			     struct gt_exec_request *req, int *opened,
			     struct gt_err *err);

/* [rank]: where a local rank sees the buffers of all ranks. */
const struct gt_buffers *gt_user_buffers_seen_by(const struct gt_engine *engine,
						 uint32_t viewer);

/* Has another process requested a release?  Then give it. */
int gt_user_buffers_release_due(const struct gt_engine *engine);
void gt_user_buffers_service(struct gt_engine *engine);

#endif
