/*
 * What callers lend: memory of their own that ranks of other processes reach
 * into, so that their bytes need not pass through the engine's buffers.
 *
 * A loan is a rank's, has a number, and is opened by the other processes when
 * an operation uses it for the first time, at a meeting.  Each time processes
 * have lent something they tell each other where their buffers of an operation
 * lie, in memory that they share: that takes a microsecond behind the last
 * call.  So all of them lend first before the same operation.  Taking back may
 * wait for what runs on the others' GPUs.
 *
 * All functions belong to the engine's thread, or to whoever takes its place.
 */
#ifndef GT_EXEC_CUDA_USER_BUFFERS_H
#define GT_EXEC_CUDA_USER_BUFFERS_H

#include <stdint.h>

#include "exec/cuda/driver.h"
#include "kernels/kernels.h"

struct gt_buffers;
struct gt_engine;
struct gt_err;
struct gt_exec_request;

/* Where a buffer lies: in which loan of its rank. */
struct gt_registered_offset {
	uint64_t number; /* of the loan, from 1 on; or as below */
	uint64_t offset;
};

#define GT_OFFSET_UNREGISTERED 0
#define GT_OFFSET_NONE         UINT64_MAX /* there is no such buffer */

/* What a rank says of an operation. */
struct gt_exchange_entry {
	struct gt_registered_offset input, output;
	uint64_t inplace;
};

/* A process's, in memory that all of a host share; zeros at first. */
struct gt_exchange_slot {
	uint64_t meetings; /* that it has come to */
	/* How often it has asked the others to leave a loan, and which. */
	uint64_t requests, number, rank;
	uint64_t released[GT_P2P_RANKS]; /* of what each process asked */
};

struct gt_exchange_area {
	struct gt_exchange_slot slots[GT_P2P_RANKS];
	/* At meetings of even and of odd number. */
	struct gt_exchange_entry entries[2][GT_P2P_RANKS];
};

/* Of a local rank, or of another process's that has told of it. */
struct gt_registration {
	struct gt_registration *next;
	uint64_t number;
	const char *base; /* a local rank's; else NULL */
	uint64_t bytes;
	int is_known;           /* all processes have heard of it */
	int refused;            /* not all can open it */
	char *at[GT_P2P_RANKS]; /* as each local rank sees it */
	/* Another process's: as CUDA IPC opened it, or mapped. */
	void *opened[GT_P2P_RANKS];
	struct gt_cuda_mapping map;
};

enum {
	GT_PENDING_REGISTRATIONS = 2 * GT_P2P_RANKS
}; /* of an operation, at most */

/* Loans of one operation that not all know yet, in the same order for all. */
struct gt_pending_registrations {
	uint32_t n;
	uint32_t rank[GT_PENDING_REGISTRATIONS];
	uint64_t number[GT_PENDING_REGISTRATIONS];
};

/*
 * user_buffers_share.c: where a rank's loan is or would be in its list; let go of what
 * is another process's.  _news_add notes a loan unless all know it; _news_meet
 * is the meeting at which all open what is new, or nobody does.
 */
struct gt_registration **gt_registration_find(const struct gt_engine *engine,
					      uint32_t rank, uint64_t number);
void gt_registration_unmap(const struct gt_engine *engine,
			   struct gt_registration *loan);
void gt_pending_registrations_add(const struct gt_engine *engine,
				  struct gt_pending_registrations *news,
				  uint32_t rank, uint64_t number);
int gt_pending_registrations_open(struct gt_engine *engine,
				  const struct gt_pending_registrations *news,
				  struct gt_err *err);

int gt_user_buffers_open(struct gt_engine *engine, struct gt_err *err);

/* GT_EINPUT unless the bytes are the rank's GPU's; and are not lent yet. */
int gt_cuda_owns(const struct gt_engine *engine, uint32_t rank,
		 const void *buffer, uint64_t bytes, struct gt_err *err);
int gt_cuda_register(struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err);

/*
 * Take back what was lent: nobody has it open any more.  GT_EINPUT if there is
 * no such loan.
 */
int gt_cuda_deregister(struct gt_engine *engine, uint32_t rank,
		       const void *buffer, struct gt_err *err);

/* Has this process lent anything? */
int gt_user_buffers_exist(const struct gt_engine *engine);

/*
 * Wait until all processes have come to the request.  Do all ranks' buffers lie
 * in loans that all have opened?  Then they are as each local rank sees them,
 * and req->inplace is for all ranks.  NULL: nobody wants to know.
 */
int gt_user_buffers_exchange(struct gt_engine *engine,
			     struct gt_exec_request *req, int *opened,
			     struct gt_err *err);
const struct gt_buffers *gt_user_buffers_seen_by(const struct gt_engine *engine,
						 uint32_t viewer);

/* Do others want a loan back?  Then give it. */
int gt_user_buffers_release_due(const struct gt_engine *engine);
void gt_user_buffers_service(struct gt_engine *engine);

/* Give everything back, before the last meeting; forget the own loans. */
void gt_user_buffers_close(struct gt_engine *engine);

#endif
