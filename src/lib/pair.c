/*
 * Messages between two ranks.  Nothing is agreed on with others: what a rank
 * calls together is a batch in its queue, and what a pair has called is compared
 * as soon as both sides have, if they are in this process.
 */
#include "lib/comm.h"

#include <stdlib.h>
#include <string.h>

/* A call whose other side has not called yet. */
struct gt_posted {
	struct gt_posted *next;
	struct gt_message message;
};

/* Of one sender and one receiver. */
struct gt_pair {
	struct gt_posted *first, **last;
};

void gt_batch_free(struct gt_batch *batch)
{
	if (!batch)
		return;
	free(batch->messages);
	free(batch->states);
	free(batch);
}

void gt_pairs_free(struct gtopo_comm *comm)
{
	size_t n = (size_t)comm->nranks * comm->nranks;
	struct gt_posted *posted;

	for (size_t i = 0; comm->pairs && i < n; i++)
		while ((posted = comm->pairs[i].first)) {
			comm->pairs[i].first = posted->next;
			free(posted);
		}
	free(comm->pairs);
}

static struct gt_pair *gt_pair_of(struct gtopo_comm *comm, uint32_t sender,
				  uint32_t receiver)
{
	size_t n = (size_t)comm->nranks * comm->nranks;

	if (!comm->pairs) {
		comm->pairs = calloc(n, sizeof(*comm->pairs));
		for (size_t i = 0; comm->pairs && i < n; i++)
			comm->pairs[i].last = &comm->pairs[i].first;
	}
	return comm->pairs ? &comm->pairs[sender * comm->nranks + receiver]
			   : NULL;
}

static uint64_t gt_message_count(const struct gt_message *message)
{
	return message->bytes / gt_dtype_bytes(message->dtype);
}

/* The first call of the other side is not the same as this one. */
static void gt_pair_fail(struct gtopo_comm *comm, uint32_t rank,
			 const struct gt_message *mine,
			 const struct gt_message *theirs)
{
	const struct gt_message *sent = mine->sends ? mine : theirs;
	const struct gt_message *received = mine->sends ? theirs : mine;
	struct gt_err err;

	gt_err_init(&err);
	gt_err_set(&err, GT_EINPUT, NULL,
		   "rank %u sends %llu %s to rank %u, which receives %llu %s",
		   mine->sends ? rank : mine->peer,
		   (unsigned long long)gt_message_count(sent),
		   gt_dtype_name(sent->dtype), mine->sends ? mine->peer : rank,
		   (unsigned long long)gt_message_count(received),
		   gt_dtype_name(received->dtype));
	gt_comm_fail(comm, GT_EINPUT, &err);
	/* What is on a GPU already waits for what will not come. */
	if (comm->ops->async)
		atomic_store(&comm->interrupt, 1);
}

/* Keep a call until the other side's comes, or compare the two. */
static int gt_pair_post(struct gtopo_comm *comm, uint32_t rank,
			const struct gt_message *message)
{
	struct gt_pair *pair = message->sends
				       ? gt_pair_of(comm, rank, message->peer)
				       : gt_pair_of(comm, message->peer, rank);
	struct gt_posted *posted = pair ? pair->first : NULL;

	if (posted && posted->message.sends != message->sends) {
		if (posted->message.bytes != message->bytes ||
		    posted->message.dtype != message->dtype)
			gt_pair_fail(comm, rank, message, &posted->message);
		pair->first = posted->next;
		if (!pair->first)
			pair->last = &pair->first;
		free(posted);
		return comm->state < 0 ? comm->state : GTOPO_OK;
	}
	posted = pair ? malloc(sizeof(*posted)) : NULL;
	if (!posted)
		return GTOPO_ESYSTEM;
	*posted = (struct gt_posted){.message = *message};
	*pair->last = posted;
	pair->last = &posted->next;
	return GTOPO_OK;
}

/* What was posted of a batch that is not called after all may stay: the
 * communicator has failed. */
int gt_batch_post(struct gtopo_comm *comm, uint32_t rank,
		  struct gt_batch *batch)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_call *call = calloc(1, sizeof(*call));
	struct gt_err err;
	int rc = call ? GTOPO_OK : GTOPO_ESYSTEM;

	for (uint32_t i = 0; !rc && i < batch->n; i++)
		if (gt_comm_is_rank(comm, (int)batch->messages[i].peer))
			rc = gt_pair_post(comm, rank, &batch->messages[i]);
	if (rc) {
		gt_err_init(&err);
		gt_err_nomem(&err);
		gt_comm_fail(comm, rc, &err);
		gt_batch_free(batch);
		free(call);
		return rc;
	}
	call->batch = batch;
	call->stream = me->stream;
	batch->left = batch->n;
	gt_queue_add(&me->called, call);
	me->nbatches++;
	return GTOPO_OK;
}

static int gt_batch_add(struct gt_batch **at, const struct gt_message *message)
{
	struct gt_batch *batch = *at ? *at : calloc(1, sizeof(*batch));
	uint32_t room;
	void *more;

	*at = batch;
	if (!batch)
		return GTOPO_ESYSTEM;
	if (batch->n == batch->room) {
		room = batch->room ? 2 * batch->room : 4;
		more = reallocarray(batch->messages, room,
				    sizeof(*batch->messages));
		if (!more)
			return GTOPO_ESYSTEM;
		batch->messages = more;
		more = realloc(batch->states, room);
		if (!more)
			return GTOPO_ESYSTEM;
		batch->states = more;
		batch->room = room;
	}
	batch->states[batch->n] = 0;
	batch->messages[batch->n++] = *message;
	return GTOPO_OK;
}

static int gt_message_check(const struct gtopo_comm *comm,
			    struct gt_message *message, uint64_t count)
{
	if (message->peer >= comm->nranks || message->dtype >= GT_NDTYPES)
		return GTOPO_EINPUT;
	if (__builtin_mul_overflow(count, gt_dtype_bytes(message->dtype),
				   &message->bytes) ||
	    message->bytes > INT64_MAX >> 8 || (count && !message->buffer))
		return GTOPO_EINPUT;
	return comm->ops->async && (uintptr_t)message->buffer %
					   gt_dtype_bytes(message->dtype)
		       ? GTOPO_EINPUT
		       : GTOPO_OK;
}

/* With the mutex held: into the rank's group, or as a batch of its own. */
static int gt_message_call(struct gtopo_comm *comm, int rank,
			   const struct gt_message *message)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_batch *alone = NULL;
	int rc;

	if (comm->state < 0)
		return comm->state;
	if (me->in_group)
		return gt_batch_add(&me->batch, message);
	rc = gt_batch_add(&alone, message);
	if (rc)
		gt_batch_free(alone);
	else
		rc = gt_batch_post(comm, (uint32_t)rank, alone);
	return rc ? rc : gt_comm_called(comm, rank);
}

static int gt_comm_message(struct gtopo_comm *comm, int rank,
			   struct gt_message *message, uint64_t count)
{
	int rc;

	if (!gt_comm_is_rank(comm, rank))
		return GTOPO_EINPUT;
	rc = gt_message_check(comm, message, count);
	pthread_mutex_lock(&comm->mutex);
	if (!rc)
		rc = gt_message_call(comm, rank, message);
	if (rc && comm->ranks[rank].in_group && !comm->ranks[rank].refused)
		comm->ranks[rank].refused = rc;
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gtopo_send(struct gtopo_comm *comm, int rank, const void *buffer,
	       uint64_t count, enum gtopo_type type, int peer)
{
	/* A type that does not fit in a byte is none that is known. */
	return gt_comm_message(
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
	return gt_comm_message(
		comm, rank,
		&(struct gt_message){.buffer = buffer,
				     .peer = (uint32_t)peer,
				     .dtype = (unsigned)type < GT_NDTYPES
						      ? (uint8_t)type
						      : GT_NDTYPES},
		count);
}

/* A rank whose messages are next on its stream. */
static struct gt_comm_rank *gt_batch_next(struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (comm->ranks[r].called.first &&
		    comm->ranks[r].called.first->batch)
			return &comm->ranks[r];
	return NULL;
}

int gt_batch_launch(struct gtopo_comm *comm)
{
	struct gt_comm_rank *me = gt_batch_next(comm);
	struct gt_call *call;
	struct gt_err err;
	int rc;

	if (!me)
		return 0;
	gt_err_init(&err);
	call = me->called.first;
	comm->launching = 1;
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->ops->async->sendrecv(
		comm->engine, (uint32_t)(me - comm->ranks), call->stream,
		call->batch->messages, call->batch->n, &err);
	pthread_mutex_lock(&comm->mutex);
	comm->launching = 0;
	if (rc)
		gt_comm_fail(comm, rc, &err);
	me->called.first = call->next;
	if (!me->called.first)
		me->called.last = &me->called.first;
	me->nbatches_done++;
	gt_batch_free(call->batch);
	free(call);
	pthread_cond_broadcast(&comm->changed);
	return 1;
}
