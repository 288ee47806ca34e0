/*
 * The calls of ranks that are not done yet: each rank has a queue, in which a
 * call is a collective or a batch of messages.
 *
 * Ranks agree on nothing beforehand about messages.  Each sender and receiver
 * have a queue of their own of messages that one of the two has called, so that
 * a pair is compared as soon as both have, if both are in this process.
 */
#include "lib/queue.h"

#include <stdlib.h>

#include "lib/batch.h"

/* A message that the other side has not called yet. */
struct gt_posted {
	struct gt_posted *next;
	struct gt_message message;
};

/* The messages from one sender to one receiver; all are of the same side. */
struct gt_message_queue {
	struct gt_posted *first, **last;
};

void gt_queue_init(struct gt_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

void gt_queue_add(struct gt_queue *queue, struct gt_call *call)
{
	call->next = NULL;
	*queue->last = call;
	queue->last = &call->next;
}

void gt_queue_pop(struct gt_queue *queue)
{
	struct gt_call *call = queue->first;

	queue->first = call->next;
	if (!queue->first)
		queue->last = &queue->first;
	gt_batch_free(call->batch);
	free(call);
}

void gt_queue_free(struct gt_queue *queue)
{
	while (queue->first)
		gt_queue_pop(queue);
	gt_queue_init(queue);
}

struct gt_batch *gt_batch_at(const struct gtopo_comm *comm, uint32_t rank)
{
	struct gt_call *call = comm->ranks[rank].called.first;

	return call ? call->batch : NULL;
}

void gt_message_queues_free(struct gtopo_comm *comm)
{
	size_t n = (size_t)comm->nranks * comm->nranks;
	struct gt_posted *posted;

	for (size_t i = 0; comm->messages && i < n; i++)
		while ((posted = comm->messages[i].first)) {
			comm->messages[i].first = posted->next;
			free(posted);
		}
	free(comm->messages);
}

/* The queue of a pair of ranks, or NULL when memory ran out. */
static struct gt_message_queue *gt_message_queue_of(struct gtopo_comm *comm,
						    uint32_t sender,
						    uint32_t receiver)
{
	size_t n = (size_t)comm->nranks * comm->nranks;

	if (!comm->messages) {
		comm->messages = calloc(n, sizeof(*comm->messages));
		for (size_t i = 0; comm->messages && i < n; i++)
			comm->messages[i].last = &comm->messages[i].first;
	}
	return comm->messages
		       ? &comm->messages[sender * comm->nranks + receiver]
		       : NULL;
}

int gt_message_differs(uint32_t sender, uint32_t receiver, struct gt_err *err)
{
	return gt_err_set(err, GT_EINPUT, NULL,
			  "ranks %u and %u do not exchange the same matrix in "
			  "gtopo_alltoallv_matrix(); all ranks have to give "
			  "one and the same",
			  sender, receiver);
}

static uint64_t gt_message_count(const struct gt_message *message)
{
	return message->bytes / gt_dtype_bytes(message->dtype);
}

/* The two sides of a pair have called different messages. */
static void gt_message_queue_fail(struct gtopo_comm *comm, uint32_t rank,
				  const struct gt_message *mine,
				  const struct gt_message *theirs)
{
	const struct gt_message *sent = mine->sends ? mine : theirs;
	const struct gt_message *received = mine->sends ? theirs : mine;
	struct gt_err err;

	gt_err_init(&err);
	if (sent->matrix != received->matrix)
		gt_message_differs(mine->sends ? rank : mine->peer,
				   mine->sends ? mine->peer : rank, &err);
	gt_err_set(&err, GT_EINPUT, NULL,
		   "rank %u sends %llu %s to rank %u, which receives %llu %s",
		   mine->sends ? rank : mine->peer,
		   (unsigned long long)gt_message_count(sent),
		   gt_dtype_name(sent->dtype), mine->sends ? mine->peer : rank,
		   (unsigned long long)gt_message_count(received),
		   gt_dtype_name(received->dtype));
	gt_comm_fail(comm, GT_EINPUT, &err);
	/* A message that is on a GPU already waits for one that never comes. */
	if (comm->ops->async)
		atomic_store(&comm->interrupt, 1);
}

/* Keep a message until the other side calls it, or compare the two. */
static int gt_message_queue_post(struct gtopo_comm *comm, uint32_t rank,
				 const struct gt_message *message)
{
	struct gt_message_queue *queue =
		message->sends ? gt_message_queue_of(comm, rank, message->peer)
			       : gt_message_queue_of(comm, message->peer, rank);
	struct gt_posted *posted = queue ? queue->first : NULL;

	if (posted && posted->message.sends != message->sends) {
		if (posted->message.bytes != message->bytes ||
		    posted->message.dtype != message->dtype ||
		    posted->message.matrix != message->matrix)
			gt_message_queue_fail(comm, rank, message,
					      &posted->message);
		queue->first = posted->next;
		if (!queue->first)
			queue->last = &queue->first;
		free(posted);
		return comm->state < 0 ? comm->state : GTOPO_OK;
	}
	posted = queue ? malloc(sizeof(*posted)) : NULL;
	if (!posted)
		return GTOPO_ESYSTEM;
	*posted = (struct gt_posted){.message = *message};
	*queue->last = posted;
	queue->last = &posted->next;
	return GTOPO_OK;
}

/*
 * If a batch is refused half-way, the messages that were posted of it may stay
 * posted, because the communicator has failed.
 */
int gt_batch_post(struct gtopo_comm *comm, uint32_t rank,
		  struct gt_batch *batch)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_call *call = calloc(1, sizeof(*call));
	struct gt_err err;
	int rc = call ? GTOPO_OK : GTOPO_ESYSTEM;

	if (!rc && !comm->ops->async)
		rc = gt_batch_find_heads(batch, comm->nranks);
	for (uint32_t i = 0; !rc && i < batch->n; i++)
		if (gt_comm_is_rank(comm, (int)batch->messages[i].peer))
			rc = gt_message_queue_post(comm, rank,
						   &batch->messages[i]);
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
	gt_queue_add(&me->called, call);
	me->nbatches++;
	return GTOPO_OK;
}
