/*
 * Registrations: memory of callers that ranks of other processes reach into, so
 * that bytes need not pass through the engine's buffers.  A registration is a
 * rank's and has a number; those of all ranks with one number belong together,
 * and all processes open them at a meeting.
 */
#ifndef GT_EXEC_CUDA_REGISTRATION_H
#define GT_EXEC_CUDA_REGISTRATION_H

#include "exec/cuda/device/state.h"

/*
 * A registration of a local rank, or of another process's rank that has told of
 * it.
 */
struct gt_registration {
	struct gt_registration *next;
	uint64_t number;
	const char *base; /* of a local rank's; else NULL */
	uint64_t bytes;
	int refused;            /* not all can open it, or have not tried yet */
	char *at[GT_P2P_RANKS]; /* as each local rank sees it */
	/* Another process's: CUDA IPC has opened it, or it is mapped. */
	void *opened[GT_P2P_RANKS];
	struct gt_cuda_mapping map;
};

/* A buffer lies so far behind the begin of a registration of its rank. */
struct gt_registered_offset {
	uint64_t number; /* of the registration, from 1 on; or as below */
	uint64_t offset;
};

/* Where a request's buffers lie, as far as others reach them. */
struct gt_registered_place {
	struct gt_registered_offset input, output;
};

#define GT_OFFSET_UNREGISTERED 0
#define GT_OFFSET_NONE         UINT64_MAX /* there is no such buffer */

/* Find where a rank's registration is, or would be, in its list. */
struct gt_registration **gt_registration_find(const struct gt_engine *engine,
					      uint32_t rank, uint64_t number);

/*
 * Closing what is another process's waits for all that runs on the own GPU,
 * which may wait for who has deregistered.  So a registration only leaves, and
 * whoever has nobody who waits for him, and the turn (device/closing_turn.h),
 * closes what has left.
 */
void gt_registration_leave(struct gt_engine *engine,
			   struct gt_registration **at);
void gt_registrations_close_left(struct gt_engine *engine);

/*
 * Meet, so that all processes open all ranks' registrations of that number, or
 * nobody does.
 */
int gt_registrations_open(struct gt_engine *engine, uint64_t number,
			  struct gt_err *err);

/* All processes, which have met, do without what they have opened. */
void gt_registrations_refuse(struct gt_engine *engine, uint64_t number);

#endif
