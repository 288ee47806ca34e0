/*
 * The helpers that every file of the library needs of a communicator's state:
 * whether it works, why it does not, which ranks are here, and how to wait for
 * a change.
 */
#include "lib/state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

int gt_comm_code(int rc)
{
	return rc == GT_ENO ? GTOPO_EINPUT : rc;
}

int gt_comm_is_rank(const struct gtopo_comm *comm, int rank)
{
	return rank >= (int)comm->first && rank < (int)comm->end;
}

/* Others may see an abort and fail before it has come to take the mutex. */
void gt_comm_fail(struct gtopo_comm *comm, int rc, const struct gt_err *err)
{
	int aborted = atomic_load(&comm->interrupt);

	if (comm->state >= 0) {
		comm->state = aborted ? GTOPO_EABORTED : gt_comm_code(rc);
		comm->err = *err;
	}
	if (aborted && comm->state == GTOPO_EABORTED)
		gt_err_set(&comm->err, GTOPO_EABORTED, NULL, "aborted");
	pthread_cond_broadcast(&comm->changed);
}

int gt_comm_refuse(struct gtopo_comm *comm, const char *fmt, ...)
{
	char words[sizeof(comm->refusal.text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	gt_err_init(&comm->refusal);
	return gt_err_set(&comm->refusal, GTOPO_EINPUT, NULL, "%s", words);
}

int gt_comm_keep_words(struct gtopo_comm *comm, int rc,
		       const struct gt_err *err)
{
	comm->refusal = *err;
	return gt_comm_code(rc);
}

int gt_comm_refuse_unaligned(struct gtopo_comm *comm, int rank)
{
	return gt_comm_refuse(comm,
			      "rank %d has a buffer that is not aligned to its "
			      "elements",
			      rank);
}

int gt_comm_refuse_words(struct gtopo_comm *comm, const char *words)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_refuse(comm, "%s", words);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gt_comm_check_rank(struct gtopo_comm *comm, int rank)
{
	if (gt_comm_is_rank(comm, rank))
		return GTOPO_OK;
	return gt_comm_refuse(comm,
			      "'%d' is no rank of this process, which has %u "
			      "to %u",
			      rank, comm->first, comm->end - 1);
}

int gt_comm_tell_not_done(struct gtopo_comm *comm, int rank)
{
	int rc = GTOPO_OK;

	for (uint32_t r = comm->first; r < comm->end; r++)
		if (rank == GTOPO_ALL_RANKS || r == (uint32_t)rank) {
			if (!rc)
				rc = comm->ranks[r].not_done;
			comm->ranks[r].not_done = GTOPO_OK;
		}
	return rc;
}

int gt_comm_await_open(struct gtopo_comm *comm)
{
	while (comm->state == GTOPO_IN_PROGRESS)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	return comm->state;
}

int gt_comm_is_done(const struct gtopo_comm *comm, int rank)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		if ((rank == GTOPO_ALL_RANKS || r == (uint32_t)rank) &&
		    (comm->ranks[r].ndone < comm->ranks[r].ncalled ||
		     comm->ranks[r].nbatches_done < comm->ranks[r].nbatches))
			return 0;
	return 1;
}

int gt_comm_sleep(struct gtopo_comm *comm, int64_t until_ns)
{
	const struct timespec until = gt_clock_timespec(until_ns);

	return pthread_cond_timedwait(&comm->changed, &comm->mutex, &until) ==
	       ETIMEDOUT;
}
