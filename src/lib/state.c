/*
 * The helpers that every file of the library needs of a communicator's state:
 * whether it works, why it does not, which ranks are here, and how to wait for
 * a change.
 */
#include "lib/state.h"

#include <errno.h>
#include <time.h>

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
	const struct timespec until = {.tv_sec = until_ns / 1000000000,
				       .tv_nsec = until_ns % 1000000000};

	return pthread_cond_timedwait(&comm->changed, &comm->mutex, &until) ==
	       ETIMEDOUT;
}
