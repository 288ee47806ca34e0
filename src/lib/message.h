/*
 * What calls of messages share: each is checked, and goes into a batch that is
 * then called.  With the mutex held.
 */
#ifndef GT_LIB_MESSAGE_H
#define GT_LIB_MESSAGE_H

#include <stdint.h>

struct gt_batch;
struct gt_message;
struct gtopo_comm;

/*
 * Check a message that the rank calls, of so many elements, set its bytes and
 * put a copy to the end of *batch, which is made if it is NULL.
 */
int gt_message_add(struct gtopo_comm *comm, int rank,
		   struct gt_message *message, uint64_t count,
		   struct gt_batch **batch);

/*
 * The rank has called a batch, which is taken: it goes into the group that the
 * rank has open, or is posted.
 */
int gt_message_call(struct gtopo_comm *comm, int rank, struct gt_batch *batch);

/* A call of the rank has failed: so has the group that it has open. */
int gt_message_refuse_group(struct gtopo_comm *comm, int rank, int rc);

#endif
