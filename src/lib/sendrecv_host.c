/*
 * Messages on the host, all by the communicator's thread.  Between two ranks of
 * this process a message is a copy, made when both have come to it; others go
 * through shared memory or a link (sendrecv_remote.c).
 */
#include "lib/sendrecv_host.h"

#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "lib/parallel_copy.h"
#include "lib/queue.h"
#include "lib/sendrecv_remote.h"
#include "plan/ir/plan.h"

enum {
	/* How long it polls for another process before it sleeps in between. */
	GT_SENDRECV_SPIN_NS = 200000,
	GT_SENDRECV_SLEEP_NS = 50000,
};

enum gt_message_state {
	GT_MESSAGE_WAITS,
	GT_MESSAGE_DONE, /* or a copy of it will be made at once */
};

/* The first message of a batch to or from a peer that is not done. */
static uint32_t gt_batch_find(const struct gt_batch *batch, uint32_t peer,
			      int sends)
{
	uint32_t i = 0;

	while (i < batch->n && (batch->states[i] != GT_MESSAGE_WAITS ||
				batch->messages[i].peer != peer ||
				batch->messages[i].sends != sends))
		i++;
	return i;
}

/* Note copies of all that the rank sends to ranks that have come to it. */
static int gt_batch_match(struct gtopo_comm *comm, uint32_t rank,
			  struct gt_copies *copies)
{
	struct gt_batch *mine = gt_batch_at(comm, rank), *theirs;
	int rc = GT_OK;
	uint32_t j;

	for (uint32_t i = 0; mine && !rc && i < mine->n; i++) {
		const struct gt_message *m = &mine->messages[i];

		theirs = m->sends && gt_comm_is_rank(comm, (int)m->peer)
				 ? gt_batch_at(comm, m->peer)
				 : NULL;
		if (!theirs || mine->states[i] != GT_MESSAGE_WAITS)
			continue;
		j = gt_batch_find(theirs, rank, 0);
		if (j == theirs->n)
			continue;
		rc = gt_copies_add(copies, m->buffer,
				   theirs->messages[j].buffer, m->bytes);
		if (rc)
			continue;
		mine->states[i] = theirs->states[j] = GT_MESSAGE_DONE;
		mine->left--;
		theirs->left--;
		mine->since_ns = theirs->since_ns = gt_clock_ns();
	}
	return rc;
}

/* Take batches of which nothing is left off the queues. */
static void gt_batches_end(struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++) {
		struct gt_queue *queue = &comm->ranks[r].called;
		const struct gt_batch *batch = gt_batch_at(comm, r);

		if (!batch || batch->left)
			continue;
		gt_queue_pop(queue);
		comm->ranks[r].nbatches_done++;
	}
	pthread_cond_broadcast(&comm->changed);
}

/* Is there one before it to or from the same peer that is not done? */
static int gt_batch_is_behind(const struct gt_batch *batch, uint32_t i)
{
	return gt_batch_find(batch, batch->messages[i].peer,
			     batch->messages[i].sends) < i;
}

/* Without the mutex: move what the batch has for other processes. */
static int gt_batch_move_remote(struct gtopo_comm *comm, uint32_t rank,
				struct gt_batch *batch, int *moved,
				struct gt_err *err)
{
	int rc = GT_OK, any = 0;

	for (uint32_t i = 0; rc >= 0 && i < batch->n; i++) {
		const struct gt_message *m = &batch->messages[i];

		if (batch->states[i] != GT_MESSAGE_WAITS ||
		    gt_comm_is_rank(comm, (int)m->peer) ||
		    gt_batch_is_behind(batch, i))
			continue;
		rc = gt_remote_move(comm, rank, m, &any, err);
		if (rc > 0) {
			batch->states[i] = GT_MESSAGE_DONE;
			batch->left--;
			any = 1;
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
		batch = gt_batch_at(comm, r);
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
	struct gt_err err;
	int rc = GT_OK, remote;

	for (uint32_t r = comm->first; !rc && r < comm->end; r++)
		rc = gt_batch_match(comm, r, &copies);
	if (copies.n) {
		pthread_mutex_unlock(&comm->mutex);
		gt_copies_run(&copies);
		pthread_mutex_lock(&comm->mutex);
		gt_batches_end(comm);
	}
	gt_copies_free(&copies);
	if (rc) {
		gt_err_init(&err);
		gt_err_nomem(&err);
		gt_comm_fail(comm, rc, &err);
	}
	remote = gt_batches_move_remote(comm);
	return remote || copies.n > 0;
}

/* Say what a rank waits for: "waits to send to rank 3". */
static void gt_rank_words(const struct gtopo_comm *comm, uint32_t rank,
			  char *words, size_t size)
{
	const struct gt_call *call = comm->ranks[rank].called.first;
	const struct gt_batch *batch = call ? call->batch : NULL;
	uint32_t i = 0;

	if (!call) {
		snprintf(words, size, "has called nothing more");
	} else if (!batch) {
		snprintf(words, size,
			 "waits for all at its collective %llu, %s",
			 (unsigned long long)comm->ranks[rank].ndone,
			 gt_coll_name(call->req.coll));
	} else {
		while (batch->states[i] != GT_MESSAGE_WAITS)
			i++;
		snprintf(words, size, "waits to %s rank %u",
			 batch->messages[i].sends ? "send to" : "receive from",
			 batch->messages[i].peer);
	}
}

static void gt_batch_fail_late(struct gtopo_comm *comm, uint32_t rank)
{
	const struct gt_batch *batch = gt_batch_at(comm, rank);
	char mine[80], theirs[80];
	struct gt_err err;
	uint32_t i = 0;

	while (batch->states[i] != GT_MESSAGE_WAITS)
		i++;
	gt_rank_words(comm, rank, mine, sizeof(mine));
	if (gt_comm_is_rank(comm, (int)batch->messages[i].peer))
		gt_rank_words(comm, batch->messages[i].peer, theirs,
			      sizeof(theirs));
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
