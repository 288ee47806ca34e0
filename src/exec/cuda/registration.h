/*
 * Registrations: memory of callers that ranks of other processes reach into, so
 * that bytes need not pass through the engine's buffers.  A registration is a
 * rank's and has a number; the other processes open it, at a meeting, when an
 * operation uses it for the first time.
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
	int is_known;           /* all processes have heard of it */
	int refused;            /* not all can open it */
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

#define GT_OFFSET_UNREGISTERED 0
#define GT_OFFSET_NONE         UINT64_MAX /* there is no such buffer */

enum { GT_PENDING_REGISTRATIONS = 2 * GT_P2P_RANKS }; /* an operation's most */

/*
 * Registrations of one operation that not all processes know yet, in the same
 * order for all.
 */
struct gt_pending_registrations {
	uint32_t n;
	uint32_t rank[GT_PENDING_REGISTRATIONS];
	uint64_t number[GT_PENDING_REGISTRATIONS];
};

/* Find where a rank's registration is, or would be, in its list. */
struct gt_registration **gt_registration_find(const struct gt_engine *engine,
					      uint32_t rank, uint64_t number);

/* Let go of what is another process's. */
void gt_registration_unmap(const struct gt_engine *engine,
			   struct gt_registration *reg);

/* Note a registration unless all processes know it. */
void gt_pending_registrations_add(const struct gt_engine *engine,
				  struct gt_pending_registrations *pending,
				  uint32_t rank, uint64_t number);

/* Meet, so that all processes open what is pending, or nobody does. */
int gt_pending_registrations_open(
	struct gt_engine *engine,
	const struct gt_pending_registrations *pending, struct gt_err *err);

#endif
