/*
 * Groups as a user opens and closes them: what a rank calls in between is held
 * and starts together.
 */
#include "lib/state.h"

#include "lib/batch.h"
#include "lib/launch.h"
#include "lib/queue.h"

/* Loops over the local ranks that `rank` or GTOPO_ALL_RANKS stands for. */
#define GT_COMM_EACH(comm, rank, r)                                            \
	for (uint32_t r = (comm)->first; r < (comm)->end; r++)                 \
		if ((rank) == GTOPO_ALL_RANKS || r == (uint32_t)(rank))

static int gt_group_is_open(const struct gtopo_comm *comm, int rank)
{
	GT_COMM_EACH(comm, rank, r)
	{
		if (comm->ranks[r].in_group)
			return 1;
	}
	return 0;
}

static int gt_group_is_closed(const struct gtopo_comm *comm, int rank)
{
	GT_COMM_EACH(comm, rank, r)
	{
		if (!comm->ranks[r].in_group)
			return 1;
	}
	return 0;
}

static int gt_group_check_rank(struct gtopo_comm *comm, int rank)
{
	return rank == GTOPO_ALL_RANKS ? GTOPO_OK
				       : gt_comm_check_rank(comm, rank);
}

int gtopo_group_start(struct gtopo_comm *comm, int rank)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_group_check_rank(comm, rank);
	if (!rc && gt_group_is_open(comm, rank))
		rc = gt_comm_refuse(comm, "the group is open already");
	if (!rc)
		GT_COMM_EACH(comm, rank, r)
		{
			comm->ranks[r].in_group = 1;
			comm->ranks[r].refused = GTOPO_OK;
		}
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

/*
 * Move the calls that were held to those that are called, or free them if the
 * group must not start.  All of them get the rank's present stream, since one
 * launch is on one stream.
 */
static int gt_group_close(struct gtopo_comm *comm, uint32_t rank, int starts)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_batch *batch = me->batch;
	struct gt_call *call;
	uint32_t n = 0;

	for (call = me->held.first; call; call = call->next)
		n++;
	while (starts && (call = me->held.first)) {
		me->held.first = call->next;
		call->stream = me->stream;
		call->group = n--;
		gt_queue_add(&me->called, call);
		me->ncalled++;
	}
	gt_queue_free(&me->held);
	me->batch = NULL;
	me->in_group = 0;
	if (batch && starts)
		return gt_batch_post(comm, rank, batch);
	gt_batch_free(batch);
	return GTOPO_OK;
}

/* With the mutex held: end what is open, and start it or say why not. */
static int gt_group_finish(struct gtopo_comm *comm, int rank)
{
	int rc = comm->state < 0 ? comm->state : GTOPO_OK, starts, released;

	GT_COMM_EACH(comm, rank, r)
	{
		if (!rc)
			rc = comm->ranks[r].refused;
	}
	starts = !rc;
	GT_COMM_EACH(comm, rank, r)
	{
		released = gt_group_close(comm, r, starts);
		if (!rc)
			rc = released;
	}
	return rc ? rc : gt_launch_called(comm, rank);
}

int gtopo_group_end(struct gtopo_comm *comm, int rank)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_group_check_rank(comm, rank);
	if (!rc && gt_group_is_closed(comm, rank))
		rc = gt_comm_refuse(comm, "no group is open");
	if (!rc)
		rc = gt_group_finish(comm, rank);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}
