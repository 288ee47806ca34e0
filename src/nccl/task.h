/*
 * What takes other ranks' doing and is no operation: communicators that are
 * made, split, shrunk, grown or finalized.  Each is done by a thread of its
 * own, so a thread that calls for several ranks waits for all of them together,
 * or, where its communicators do not block, for none.
 */
#ifndef GT_NCCL_TASK_H
#define GT_NCCL_TASK_H

#include "nccl/face.h"

enum gt_task_kind {
	GT_TASK_MAKE,
	GT_TASK_SPLIT,
	GT_TASK_SHRINK,
	GT_TASK_GROW,
	GT_TASK_FINALIZE
};

struct gt_task {
	struct gt_task *next;
	enum gt_task_kind kind;
	const char *call;     /* the function that the program called */
	struct gt_face *face; /* a reference; with `made`: the parent */
	struct gt_face *made; /* a reference; then the new one, or NULL */
	gt_nccl_comm handle;  /* of the one that is made */
	gt_nccl_comm *place;  /* where the program wants it */
	gt_nccl_id id;
	uint32_t size; /* grown: of the new one */
	int colour, key;
	uint8_t *excluded; /* shrunk: [ranks of the parent]; owned */
	int aborts;        /* shrunk: the parent's operations end first */
	uint64_t turn;     /* of a parent: which one of its tasks */
	int blocking;
	int has_thread; /* and is not done by the caller */
	pthread_t thread;
	gt_nccl_result result;
	char why[GT_FACE_TEXT_MAX];
};

/*
 * Start tasks, which are taken, and wait for those that block.  The first
 * failure, or GT_NCCL_IN_PROGRESS when one does not block.
 */
gt_nccl_result gt_tasks_run(struct gt_task *tasks);

/* Free tasks that are not to be done; handles that they would have filled
 * are NULL. */
void gt_tasks_drop(struct gt_task *tasks);

#endif
