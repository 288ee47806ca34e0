/*
 * The queues of calls (lib/state.h), and the messages in them.  All functions
 * are called with the communicator's mutex held.
 */
#ifndef GT_LIB_QUEUE_H
#define GT_LIB_QUEUE_H

#include "lib/state.h"

void gt_queue_init(struct gt_queue *queue);

/* Takes the call, which was allocated, to the end of the queue. */
void gt_queue_add(struct gt_queue *queue, struct gt_call *call);

/* Frees the first call, with its batch; there must be one. */
void gt_queue_pop(struct gt_queue *queue);

/* Frees all calls that are left; the queue is empty then and may be used. */
void gt_queue_free(struct gt_queue *queue);

/* The batch that the rank has come to, or NULL. */
struct gt_batch *gt_batch_at(const struct gtopo_comm *comm, uint32_t rank);

/*
 * Queue the batch, which is taken, as called by the rank.  The communicator
 * fails if a message of it is not the one that its peer has called.
 */
int gt_batch_post(struct gtopo_comm *comm, uint32_t rank,
		  struct gt_batch *batch);

/*
 * GT_EINPUT: two ranks that exchange a message have it from matrices that are
 * not the same, or one has it from none.
 */
int gt_message_differs(uint32_t sender, uint32_t receiver, struct gt_err *err);

/* The messages whose other side has not called. */
void gt_message_queues_free(struct gtopo_comm *comm);

#endif
