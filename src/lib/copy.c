/*
 * Messages on the host: both buffers are at hand, so that a message is a copy,
 * made when both ranks have come to it.
 */
#include "lib/comm.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"
#include "plan/ir/plan.h"

enum {
	GT_COPY_THREADS = 8,           /* at most, of as many processors */
	GT_COPY_ALONE_BYTES = 1 << 20, /* not worth another thread */
	GT_COPY_PIECE_BYTES = 256 << 10,
	GT_COPY_SPIN_NS = 200000, /* for another process, before it sleeps */
	GT_COPY_SLEEP_NS = 50000,
};

enum gt_message_state {
	GT_MESSAGE_WAITS,
	GT_MESSAGE_COPIED, /* or about to be */
};

struct gt_copy {
	const char *from;
	char *to;
	uint64_t bytes;
	uint64_t first_piece;
};

struct gt_copies {
	struct gt_copy *all;
	uint32_t n, room;
	uint64_t bytes, pieces;
	_Atomic uint64_t next; /* piece */
	const _Atomic int *interrupt;
};

/* The batch that the rank has come to. */
static struct gt_batch *gt_batch_at(const struct gtopo_comm *comm,
				    uint32_t rank)
{
	struct gt_call *call = comm->ranks[rank].called.first;

	return call ? call->batch : NULL;
}

/* The first message of a batch to or from a peer that has not been copied. */
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

static int gt_copies_add(struct gt_copies *copies, const void *from, void *to,
			 uint64_t bytes)
{
	uint32_t room = copies->room ? 2 * copies->room : 16;
	struct gt_copy *more;

	if (copies->n == copies->room) {
		more = reallocarray(copies->all, room, sizeof(*more));
		if (!more)
			return GT_ESYS;
		copies->all = more;
		copies->room = room;
	}
	copies->all[copies->n++] =
		(struct gt_copy){.from = from,
				 .to = to,
				 .bytes = from == to ? 0 : bytes,
				 .first_piece = copies->pieces};
	copies->bytes += bytes;
	copies->pieces +=
		(bytes + GT_COPY_PIECE_BYTES - 1) / GT_COPY_PIECE_BYTES;
	return GT_OK;
}

/* All that the rank sends and whose receivers have come to it, too. */
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
		mine->states[i] = theirs->states[j] = GT_MESSAGE_COPIED;
		mine->left--;
		theirs->left--;
		mine->since_ns = theirs->since_ns = gt_clock_ns();
	}
	return rc;
}

static void gt_copy_piece(const struct gt_copies *copies, uint64_t piece)
{
	const struct gt_copy *copy = copies->all;
	uint64_t offset, bytes;

	while (copy + 1 < copies->all + copies->n &&
	       copy[1].first_piece <= piece)
		copy++;
	offset = (piece - copy->first_piece) * GT_COPY_PIECE_BYTES;
	if (offset >= copy->bytes)
		return;
	bytes = copy->bytes - offset;
	memcpy(copy->to + offset, copy->from + offset,
	       bytes < GT_COPY_PIECE_BYTES ? bytes : GT_COPY_PIECE_BYTES);
}

static void *gt_copies_main(void *arg)
{
	struct gt_copies *copies = arg;
	uint64_t piece;

	while ((piece = atomic_fetch_add(&copies->next, 1)) < copies->pieces &&
	       !atomic_load(copies->interrupt))
		gt_copy_piece(copies, piece);
	return NULL;
}

/* Threads that cannot be had are not needed. */
static void gt_copies_run(struct gt_copies *copies)
{
	pthread_t threads[GT_COPY_THREADS];
	uint32_t cpus = gt_cpus_count(), n = 0;
	struct gt_err err;

	if (copies->bytes < GT_COPY_ALONE_BYTES)
		cpus = 1;
	gt_err_init(&err);
	while (n + 1 < cpus && n < GT_COPY_THREADS && n + 1 < copies->pieces &&
	       !gt_thread_start(&threads[n], gt_copies_main, copies, &err))
		n++;
	gt_copies_main(copies);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Batches of which nothing is left, off the queues. */
static void gt_batches_end(struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++) {
		struct gt_queue *queue = &comm->ranks[r].called;
		struct gt_call *call = queue->first;

		if (!call || !call->batch || call->batch->left)
			continue;
		queue->first = call->next;
		if (!queue->first)
			queue->last = &queue->first;
		comm->ranks[r].nbatches_done++;
		gt_batch_free(call->batch);
		free(call);
	}
	pthread_cond_broadcast(&comm->changed);
}

/* Is there one before it to or from the same peer that is not done? */
static int gt_batch_is_behind(const struct gt_batch *batch, uint32_t i)
{
	return gt_batch_find(batch, batch->messages[i].peer,
			     batch->messages[i].sends) < i;
}

/* What goes between processes of the rank's batch; without the mutex. */
static int gt_batch_mail(struct gtopo_comm *comm, uint32_t rank,
			 struct gt_batch *batch, int *moved, struct gt_err *err)
{
	int rc = GT_OK, any = 0;

	for (uint32_t i = 0; rc >= 0 && i < batch->n; i++) {
		const struct gt_message *m = &batch->messages[i];

		if (batch->states[i] != GT_MESSAGE_WAITS ||
		    gt_comm_is_rank(comm, (int)m->peer) ||
		    gt_batch_is_behind(batch, i))
			continue;
		rc = gt_mail_move(comm, rank, m, &any, err);
		if (rc > 0) {
			batch->states[i] = GT_MESSAGE_COPIED;
			batch->left--;
			any = 1;
		}
	}
	if (any)
		batch->since_ns = gt_clock_ns();
	*moved |= any;
	return rc < 0 ? rc : GT_OK;
}

/* The batch has been taken up; only this thread takes it off its queue. */
static int gt_batches_mail(struct gtopo_comm *comm)
{
	struct gt_batch *batch;
	struct gt_err err;
	int rc = GT_OK, moved = 0, any = 0;

	if (!comm->mail)
		return 0;
	gt_err_init(&err);
	for (uint32_t r = comm->first; !rc && r < comm->end; r++) {
		batch = gt_batch_at(comm, r);
		if (!batch)
			continue;
		any = 1;
		pthread_mutex_unlock(&comm->mutex);
		rc = gt_batch_mail(comm, r, batch, &moved, &err);
		pthread_mutex_lock(&comm->mutex);
	}
	/* Without a batch the thread may sleep for ever on what it has seen with
	   the mutex held. */
	if (any) {
		pthread_mutex_unlock(&comm->mutex);
		gt_mail_progress(comm);
		pthread_mutex_lock(&comm->mutex);
	}
	if (rc)
		gt_comm_fail(comm, rc, &err);
	if (moved)
		gt_batches_end(comm);
	return moved;
}

int gt_batches_move(struct gtopo_comm *comm)
{
	struct gt_copies copies = {.interrupt = &comm->interrupt};
	struct gt_err err;
	int rc = GT_OK, mailed;

	for (uint32_t r = comm->first; !rc && r < comm->end; r++)
		rc = gt_batch_match(comm, r, &copies);
	if (copies.n) {
		pthread_mutex_unlock(&comm->mutex);
		gt_copies_run(&copies);
		pthread_mutex_lock(&comm->mutex);
		gt_batches_end(comm);
	}
	free(copies.all);
	if (rc) {
		gt_err_init(&err);
		gt_err_nomem(&err);
		gt_comm_fail(comm, rc, &err);
	}
	mailed = gt_batches_mail(comm);
	return mailed || copies.n > 0;
}

/* What a rank is at, in words: "waits to send to rank 3". */
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

static void gt_batch_late(struct gtopo_comm *comm, uint32_t rank)
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

/* Nobody rings when another process gets on. */
static void gt_batches_poll(struct gtopo_comm *comm, int64_t waited_ns)
{
	struct gt_err err;

	gt_err_init(&err);
	gt_mail_attend(comm, waited_ns < GT_COPY_SPIN_NS);
	if (gt_mail_check(comm, &err)) {
		gt_comm_fail(comm, GT_ESYS, &err);
	} else if (waited_ns < GT_COPY_SPIN_NS) {
		pthread_mutex_unlock(&comm->mutex);
		sched_yield();
		pthread_mutex_lock(&comm->mutex);
	} else {
		gt_comm_sleep(comm, gt_clock_ns() + GT_COPY_SLEEP_NS);
	}
}

void gt_batches_sleep(struct gtopo_comm *comm)
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
		gt_mail_attend(comm, 0);
	if (first == INT64_MAX)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	else if (comm->mail && now - first < comm->config.timeout_ns)
		gt_batches_poll(comm, now - first);
	else if (now - first < comm->config.timeout_ns)
		gt_comm_sleep(comm, first + comm->config.timeout_ns);
	else
		gt_batch_late(comm, rank);
}
