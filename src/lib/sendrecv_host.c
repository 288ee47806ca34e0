/*
 * Messages on the host, all by the communicator's thread.  Between two ranks of
 * this process a message is a copy, made when both have come to it; others go
 * through shared memory or a link (sendrecv_remote.c).
 */
#include "lib/sendrecv_host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lib/batch.h"
#include "lib/parallel_copy.h"
#include "lib/queue.h"
#include "lib/sendrecv_remote.h"
#include "plan/ir/plan.h"

enum {
	/* How long it polls for another process before it sleeps in between. */
	GT_SENDRECV_SPIN_NS = 200000,
	GT_SENDRECV_SLEEP_NS = 50000,
};

static void gt_batch_nomem(struct gtopo_comm *comm)
{
	struct gt_err err;

	gt_err_init(&err);
	gt_err_nomem(&err);
	gt_comm_fail(comm, GT_ESYS, &err);
}

/*
 * With the mutex held: the batch that the rank has come to, or NULL.  What it
 * passes on gets memory now, which the rank keeps for later batches.
 */
static struct gt_batch *gt_batch_begun(struct gtopo_comm *comm, uint32_t rank)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_batch *batch = gt_batch_at(comm, rank);

	if (!batch || !batch->relay_bytes || batch->has_relay_memory)
		return batch;
	if (batch->relay_bytes > me->relayed_room) {
		free(me->relayed);
		me->relayed = malloc(batch->relay_bytes);
		me->relayed_room = me->relayed ? batch->relay_bytes : 0;
	}
	if (!me->relayed) {
		gt_batch_nomem(comm);
		return NULL;
	}
	gt_batch_place(batch, me->relayed);
	return batch;
}

/* Note copies of all that the rank sends to ranks that have come to it. */
static int gt_batch_match(struct gtopo_comm *comm, uint32_t rank,
			  struct gt_copies *copies)
{
	struct gt_batch *mine = gt_batch_begun(comm, rank), *theirs;
	const struct gt_message *from, *to;
	uint32_t h = 0, head;

	while (mine && h < mine->nheads) {
		from = gt_batch_head(mine, h, comm->pass);
		theirs = from && from->sends &&
					 gt_comm_is_rank(comm, (int)from->peer)
				 ? gt_batch_begun(comm, from->peer)
				 : NULL;
		head = theirs ? gt_batch_head_of(theirs, rank, 0) : 0;
		to = theirs && head < theirs->nheads
			     ? gt_batch_head(theirs, head, comm->pass)
			     : NULL;
		if (!to) {
			h++;
			continue;
		}
		if (gt_copies_add(copies, from->buffer, to->buffer,
				  from->bytes))
			return GT_ESYS;
		gt_batch_end_head(mine, h, comm->pass);
		/* Of a rank with itself the head may have moved meanwhile, and
		 * what takes its place may wait until the next pass. */
		if (theirs == mine)
			head = gt_batch_head_of(theirs, rank, 0);
		gt_batch_end_head(theirs, head, comm->pass);
		mine->since_ns = theirs->since_ns = gt_clock_ns();
	}
	return GT_OK;
}

/* Take batches of which nothing is left off the queues. */
static void gt_batches_end(struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++) {
		struct gt_queue *queue = &comm->ranks[r].called;
		const struct gt_batch *batch = gt_batch_at(comm, r);

		if (!batch || batch->nheads)
			continue;
		gt_queue_pop(queue);
		comm->ranks[r].nbatches_done++;
	}
	pthread_cond_broadcast(&comm->changed);
}

/* Without the mutex: move what the batch has for other processes. */
static int gt_batch_move_remote(struct gtopo_comm *comm, uint32_t rank,
				struct gt_batch *batch, int *moved,
				struct gt_err *err)
{
	uint32_t head = 0;
	int rc = GT_OK, any = 0;

	while (rc >= 0 && head < batch->nheads) {
		const struct gt_message *m =
			gt_batch_head(batch, head, comm->pass);

		rc = m && !gt_comm_is_rank(comm, (int)m->peer)
			     ? gt_remote_move(comm, rank, m, &any, err)
			     : GT_OK;
		if (rc > 0) {
			/* What waits for it may go at once. */
			gt_batch_end_head(batch, head, comm->pass - 1);
			any = 1;
		} else {
			head++;
		}
	}
	if (any)
		batch->since_ns = gt_clock_ns();
	*moved |= any;
	return rc < 0 ? rc : GT_OK;
}

/*
 * Move what all batches have for other processes.  The mutex is let go, since
 * only this thread takes a batch off its queue.
 */
static int gt_batches_move_remote(struct gtopo_comm *comm)
{
	struct gt_batch *batch;
	struct gt_err err;
	int rc = GT_OK, moved = 0, any = 0;

	if (!comm->remote)
		return 0;
	gt_err_init(&err);
	for (uint32_t r = comm->first; !rc && r < comm->end; r++) {
		batch = gt_batch_begun(comm, r);
		if (!batch)
			continue;
		any = 1;
		pthread_mutex_unlock(&comm->mutex);
		rc = gt_batch_move_remote(comm, r, batch, &moved, &err);
		pthread_mutex_lock(&comm->mutex);
	}
	/*
	 * Without a batch the thread may sleep for ever on what it has seen
	 * with the mutex held.
	 */
	if (any) {
		pthread_mutex_unlock(&comm->mutex);
		gt_remote_progress(comm);
		pthread_mutex_lock(&comm->mutex);
	}
	if (rc)
		gt_comm_fail(comm, rc, &err);
	if (moved)
		gt_batches_end(comm);
	return moved;
}

int gt_sendrecv_move(struct gtopo_comm *comm)
{
	struct gt_copies copies = {.interrupt = &comm->interrupt};
	int rc = GT_OK, remote;

	comm->pass++;
	for (uint32_t r = comm->first; !rc && r < comm->end; r++)
		rc = gt_batch_match(comm, r, &copies);
	if (copies.n) {
		pthread_mutex_unlock(&comm->mutex);
		gt_copies_run(&copies);
		pthread_mutex_lock(&comm->mutex);
		gt_batches_end(comm);
	}
	gt_copies_free(&copies);
	if (rc)
		gt_batch_nomem(comm);
	remote = gt_batches_move_remote(comm);
	return remote || copies.n > 0;
}

/* The head to name: the first that waits for its peer alone. */
static const struct gt_message *gt_batch_waits(const struct gtopo_comm *comm,
					       const struct gt_batch *batch)
{
	const struct gt_message *m = NULL;

	for (uint32_t h = 0; !m && h < batch->nheads; h++)
		m = gt_batch_head(batch, h, comm->pass);
	return m ? m : &batch->messages[batch->heads[0].message];
}

/* Say what a rank waits for: "waits to send to rank 3". */
static void gt_rank_words(const struct gtopo_comm *comm, uint32_t rank,
			  char *words, size_t size)
{
	const struct gt_call *call = comm->ranks[rank].called.first;
	const struct gt_batch *batch = call ? call->batch : NULL;
	const struct gt_message *m;

	if (!call) {
		snprintf(words, size, "has called nothing more");
	} else if (!batch) {
		snprintf(words, size,
			 "waits for all at its collective %llu, %s",
			 (unsigned long long)comm->ranks[rank].ndone,
			 gt_coll_name(call->req.coll));
	} else {
		m = gt_batch_waits(comm, batch);
		snprintf(words, size, "waits to %s rank %u",
			 m->sends ? "send to" : "receive from", m->peer);
	}
}

static void gt_batch_fail_late(struct gtopo_comm *comm, uint32_t rank)
{
	const struct gt_batch *batch = gt_batch_at(comm, rank);
	const struct gt_message *m = gt_batch_waits(comm, batch);
	char mine[80], theirs[80];
	struct gt_err err;

	gt_rank_words(comm, rank, mine, sizeof(mine));
	if (gt_comm_is_rank(comm, (int)m->peer))
		gt_rank_words(comm, m->peer, theirs, sizeof(theirs));
	else
		snprintf(theirs, sizeof(theirs), "is in another process");
	gt_err_init(&err);
	gt_err_set(&err, GT_ESYS, NULL,
		   "rank %u %s for %.1f s, which %s; messages that need each "
		   "other belong in a group",
		   rank, mine, (double)comm->config.timeout_ns / 1e9, theirs);
	gt_comm_fail(comm, GT_ESYS, &err);
}

/* Poll for other processes, which wake nobody when they get on. */
static void gt_batches_poll(struct gtopo_comm *comm, int64_t waited_ns)
{
	struct gt_err err;

	gt_err_init(&err);
	gt_remote_attend(comm, waited_ns < GT_SENDRECV_SPIN_NS);
	if (gt_remote_check(comm, &err)) {
		gt_comm_fail(comm, GT_ESYS, &err);
	} else if (waited_ns < GT_SENDRECV_SPIN_NS) {
		pthread_mutex_unlock(&comm->mutex);
		sched_yield();
		pthread_mutex_lock(&comm->mutex);
	} else {
		gt_comm_sleep(comm, gt_clock_ns() + GT_SENDRECV_SLEEP_NS);
	}
}

void gt_sendrecv_sleep(struct gtopo_comm *comm, int64_t until_ns)
{
	int64_t now = gt_clock_ns(), first = INT64_MAX;
	uint32_t rank = comm->first;

	for (uint32_t r = comm->first; r < comm->end; r++) {
		struct gt_batch *batch = gt_batch_at(comm, r);

		if (!batch)
			continue;
		if (!batch->since_ns)
			batch->since_ns = now;
		if (batch->since_ns < first) {
			first = batch->since_ns;
			rank = r;
		}
	}
	if (first == INT64_MAX)
		gt_remote_attend(comm, 0);
	else if (first + comm->config.timeout_ns < until_ns)
		until_ns = first + comm->config.timeout_ns;
	if (until_ns == INT64_MAX)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	else if (first < INT64_MAX && now - first >= comm->config.timeout_ns)
		gt_batch_fail_late(comm, rank);
	else if (first < INT64_MAX && comm->remote)
		gt_batches_poll(comm, now - first);
	else
		gt_comm_sleep(comm, until_ns);
}
