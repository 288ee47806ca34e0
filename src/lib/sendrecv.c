/*
 * Messages as a user calls them: the arguments are checked, and the message
 * goes into the group that the rank has open, or becomes a batch of its own.
 */
#include "lib/state.h"

#include "lib/batch.h"
#include "lib/message.h"

static int gt_message_post(struct gtopo_comm *comm, int rank,
			   struct gt_message *message, uint64_t count)
{
	struct gt_batch *alone = NULL;
	int rc, in_group;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_check_rank(comm, rank);
	if (rc)
		goto unlock;
	in_group = comm->ranks[rank].in_group;
	rc = gt_message_add(comm, rank, message, count,
			    in_group ? &comm->ranks[rank].batch : &alone);
	if (rc)
		gt_batch_free(alone);
	else if (!in_group)
		rc = gt_message_call(comm, rank, alone);
	gt_message_refuse_group(comm, rank, rc);
unlock:
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gtopo_send(struct gtopo_comm *comm, int rank, const void *buffer,
	       uint64_t count, enum gtopo_type type, int peer)
{
	/* A type that does not fit in a byte is none that is known. */
	return gt_message_post(
		comm, rank,
		&(struct gt_message){.buffer = (void *)(uintptr_t)buffer,
				     .peer = (uint32_t)peer,
				     .sends = 1,
				     .dtype = (unsigned)type < GT_NDTYPES
						      ? (uint8_t)type
						      : GT_NDTYPES},
		count);
}

int gtopo_recv(struct gtopo_comm *comm, int rank, void *buffer, uint64_t count,
	       enum gtopo_type type, int peer)
{
	return gt_message_post(
		comm, rank,
		&(struct gt_message){.buffer = buffer,
				     .peer = (uint32_t)peer,
				     .dtype = (unsigned)type < GT_NDTYPES
						      ? (uint8_t)type
						      : GT_NDTYPES},
		count);
}
