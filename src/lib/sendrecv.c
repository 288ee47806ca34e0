/*
 * Messages as a user calls them: the arguments are checked, and the message
 * goes into the group that the rank has open, or becomes a batch of its own.
 */
#include "lib/state.h"

#include <inttypes.h>

#include "lib/launch.h"
#include "lib/queue.h"

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

/* With the mutex held: put it into the rank's group, or post it alone. */
static int gt_message_call(struct gtopo_comm *comm, int rank,
			   const struct gt_message *message)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_batch *alone = NULL;
	struct gt_err err;
	int rc;

	if (comm->state < 0)
		return comm->state;
	rc = gt_batch_add(me->in_group ? &me->batch : &alone, message);
	if (rc) {
		gt_batch_free(alone);
		gt_err_init(&err);
		return gt_comm_keep_words(comm, gt_err_nomem(&err), &err);
	}
	if (me->in_group)
		return GTOPO_OK;
	rc = gt_batch_post(comm, (uint32_t)rank, alone);
	return rc ? rc : gt_launch_called(comm, rank);
}

static int gt_message_post(struct gtopo_comm *comm, int rank,
			   struct gt_message *message, uint64_t count)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_check_rank(comm, rank);
	if (rc)
		goto unlock;
	rc = gt_message_check(comm, rank, message, count);
	if (!rc)
		rc = gt_message_call(comm, rank, message);
	if (rc && comm->ranks[rank].in_group && !comm->ranks[rank].refused)
		comm->ranks[rank].refused = rc;
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

/* The place of an element, or NULL with *rc where it is beyond any memory. */
static void *gt_element(struct gtopo_comm *comm, const void *buffer,
			uint64_t at, enum gtopo_type type, int *rc)
{
	uint64_t bytes = 0;

	if (!*rc && (__builtin_mul_overflow(
			     at, gt_dtype_bytes((enum gt_dtype)type), &bytes) ||
		     bytes > INT64_MAX >> 8))
		*rc = gt_comm_refuse_words(
			comm, "a displacement is beyond any memory");
	return *rc || !buffer ? NULL : (char *)(uintptr_t)buffer + bytes;
}

/* Open a group for the rank, unless its caller has one open. */
static int gt_group_begin_own(struct gtopo_comm *comm, int rank)
{
	int own;

	pthread_mutex_lock(&comm->mutex);
	own = !comm->ranks[rank].in_group;
	pthread_mutex_unlock(&comm->mutex);
	return own && gtopo_group_start(comm, rank) == GTOPO_OK;
}

/* Each rank begins with itself, so no two send to the same one at a time. */
int gtopo_alltoallv(struct gtopo_comm *comm, int rank, const void *input,
		    const uint64_t *send_counts, const uint64_t *send_displs,
		    void *output, const uint64_t *recv_counts,
		    const uint64_t *recv_displs, enum gtopo_type type)
{
	uint32_t n = comm->nranks;
	int own, end, rc = GTOPO_OK;

	if (!gt_comm_is_rank(comm, rank) || (unsigned)type >= GT_NDTYPES ||
	    !send_counts || !send_displs || !recv_counts || !recv_displs)
		return gt_comm_refuse_words(comm,
					    "the rank is not of this process, "
					    "there is no such type, or no "
					    "array of counts or displacements");
	own = gt_group_begin_own(comm, rank);
	for (uint32_t k = 0; k < n && !rc; k++) {
		uint32_t to = ((uint32_t)rank + k) % n;
		uint32_t from = ((uint32_t)rank + n - k) % n;
		void *in = gt_element(comm, input, send_displs[to], type, &rc);
		void *out =
			gt_element(comm, output, recv_displs[from], type, &rc);

		if (!rc)
			rc = gtopo_send(comm, rank, in, send_counts[to], type,
					(int)to);
		if (!rc)
			rc = gtopo_recv(comm, rank, out, recv_counts[from],
					type, (int)from);
	}
	if (rc) {
		/* The whole group is refused, as any of its messages would. */
		pthread_mutex_lock(&comm->mutex);
		if (!comm->ranks[rank].refused)
			comm->ranks[rank].refused = rc;
		pthread_mutex_unlock(&comm->mutex);
	}
	if (!own)
		return rc;
	end = gtopo_group_end(comm, rank);
	return rc ? rc : end;
}
