/* Messages on their way from a call to the rank's queue. */
#include "lib/message.h"

#include <inttypes.h>

#include "lib/batch.h"
#include "lib/launch.h"
#include "lib/queue.h"
#include "lib/state.h"

static int gt_message_check(struct gtopo_comm *comm, int rank,
			    struct gt_message *message, uint64_t count)
{
	if (message->peer >= comm->nranks)
		return gt_comm_refuse(comm, "peer '%d' is no rank, 0 to %u",
				      (int)message->peer, comm->nranks - 1);
	if (message->dtype >= GT_NDTYPES)
		return gt_comm_refuse(comm, "the type is not known");
	if (__builtin_mul_overflow(count, gt_dtype_bytes(message->dtype),
				   &message->bytes) ||
	    message->bytes > INT64_MAX >> 8)
		return gt_comm_refuse(comm,
				      "a count of '%" PRIu64
				      "' is more than memory can have",
				      count);
	if (count && !message->buffer)
		return gt_comm_refuse(comm, "rank %d has no buffer", rank);
	if (comm->ops->async &&
	    (uintptr_t)message->buffer % gt_dtype_bytes(message->dtype))
		return gt_comm_refuse_unaligned(comm, rank);
	return GTOPO_OK;
}

static int gt_message_nomem(struct gtopo_comm *comm)
{
	struct gt_err err;

	gt_err_init(&err);
	return gt_comm_keep_words(comm, gt_err_nomem(&err), &err);
}

int gt_message_add(struct gtopo_comm *comm, int rank,
		   struct gt_message *message, uint64_t count,
		   struct gt_batch **batch)
{
	int rc = gt_message_check(comm, rank, message, count);

	if (!rc && comm->state < 0)
		rc = comm->state;
	if (!rc && gt_batch_add(batch, message))
		rc = gt_message_nomem(comm);
	return rc;
}

int gt_message_call(struct gtopo_comm *comm, int rank, struct gt_batch *batch)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	int rc;

	if (me->in_group)
		return gt_batch_join(&me->batch, batch) ? gt_message_nomem(comm)
							: GTOPO_OK;
	rc = gt_batch_post(comm, (uint32_t)rank, batch);
	return rc ? rc : gt_launch_called(comm, rank);
}

int gt_message_refuse_group(struct gtopo_comm *comm, int rank, int rc)
{
	struct gt_comm_rank *me = &comm->ranks[rank];

	if (rc && me->in_group && !me->refused)
		me->refused = rc;
	return rc;
}
