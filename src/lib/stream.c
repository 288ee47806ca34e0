/*
 * Ranks on GPUs.  A call returns when its operation is on the rank's stream,
 * so that what the caller enqueues behind it comes behind it: whoever finds
 * that all ranks have called launches, the others wait for him.
 */
#include "lib/comm.h"

#include <stdlib.h>

#include "base/clock.h"
#include "plan/ir/plan.h"

enum { GT_COMM_LOOK_NS = 20000000 }; /* between looks at the GPUs */

int gtopo_comm_stream(struct gtopo_comm *comm, int rank, void *stream)
{
	if (!comm->ops->async || !gt_comm_is_rank(comm, rank))
		return GTOPO_EINPUT;
	pthread_mutex_lock(&comm->mutex);
	comm->ranks[rank].stream = stream;
	pthread_mutex_unlock(&comm->mutex);
	return GTOPO_OK;
}

int gt_comm_made(struct gtopo_comm *comm)
{
	while (comm->state == GTOPO_IN_PROGRESS)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	return comm->state;
}

int gtopo_comm_gpu(struct gtopo_comm *comm, int rank)
{
	int device = -1;

	if (!comm->ops->async || !gt_comm_is_rank(comm, rank))
		return -1;
	pthread_mutex_lock(&comm->mutex);
	if (gt_comm_made(comm) == GTOPO_OK)
		device = comm->ops->async->device(comm->engine, (uint32_t)rank);
	pthread_mutex_unlock(&comm->mutex);
	return device;
}

static struct gt_region **gt_region_find(struct gt_comm_rank *me,
					 const void *buffer)
{
	struct gt_region **at = &me->regions;

	while (*at && (*at)->buffer != buffer)
		at = &(*at)->next;
	return at;
}

/* The engine, while nobody else uses it; without the mutex until _release. */
static int gt_comm_seize(struct gtopo_comm *comm)
{
	int rc = gt_comm_made(comm);

	while (!rc && comm->launching) {
		pthread_cond_wait(&comm->changed, &comm->mutex);
		rc = comm->state;
	}
	if (rc)
		return rc;
	comm->launching = 1;
	pthread_mutex_unlock(&comm->mutex);
	return GTOPO_OK;
}

static void gt_comm_release(struct gtopo_comm *comm)
{
	pthread_mutex_lock(&comm->mutex);
	comm->launching = 0;
	pthread_cond_broadcast(&comm->changed);
}

static int gt_comm_lend(struct gtopo_comm *comm, uint32_t rank,
			const struct gt_region *region)
{
	struct gt_err err;
	int rc = gt_comm_seize(comm);

	if (rc)
		return rc;
	gt_err_init(&err);
	rc = comm->ops->async->register_buffer(
		comm->engine, rank, region->buffer, region->bytes, &err);
	gt_comm_release(comm);
	return rc;
}

int gtopo_register(struct gtopo_comm *comm, int rank, const void *buffer,
		   size_t bytes)
{
	struct gt_region *region, **at;
	int rc;

	if (!gt_comm_is_rank(comm, rank) || !buffer || !bytes)
		return GTOPO_EINPUT;
	region = malloc(sizeof(*region));
	if (!region)
		return GTOPO_ESYSTEM;
	*region = (struct gt_region){.buffer = buffer, .bytes = bytes};
	pthread_mutex_lock(&comm->mutex);
	rc = comm->ops->async ? gt_comm_lend(comm, (uint32_t)rank, region)
			      : gt_comm_made(comm);
	at = gt_region_find(&comm->ranks[rank], buffer);
	if (!rc && *at)
		rc = GTOPO_EINPUT;
	if (!rc)
		*at = region;
	pthread_mutex_unlock(&comm->mutex);
	if (rc)
		free(region);
	return gt_comm_code(rc);
}

/* Until no process has it open. */
static void gt_comm_unlend(struct gtopo_comm *comm, uint32_t rank,
			   const void *buffer)
{
	struct gt_err err;
	int rc;

	if (!comm->ops->async || gt_comm_seize(comm))
		return;
	gt_err_init(&err);
	rc = comm->ops->async->deregister_buffer(comm->engine, rank, buffer,
						 &err);
	gt_comm_release(comm);
	if (rc)
		gt_comm_fail(comm, rc, &err);
}

int gtopo_deregister(struct gtopo_comm *comm, int rank, const void *buffer)
{
	struct gt_region **at, *region;
	int rc = GTOPO_EINPUT;

	if (!gt_comm_is_rank(comm, rank))
		return GTOPO_EINPUT;
	pthread_mutex_lock(&comm->mutex);
	at = gt_region_find(&comm->ranks[rank], buffer);
	region = *at;
	if (region) {
		*at = region->next;
		gt_comm_unlend(comm, (uint32_t)rank, buffer);
		rc = comm->state < 0 ? comm->state : GTOPO_OK;
	}
	pthread_mutex_unlock(&comm->mutex);
	free(region);
	return rc;
}

/* A rank that others wait for has not called in time. */
static void gt_comm_missed(struct gtopo_comm *comm, int rank)
{
	uint32_t caller =
		rank == GTOPO_ALL_RANKS ? comm->first : (uint32_t)rank;
	uint32_t r = comm->first;
	struct gt_err err;

	while (r + 1 < comm->end && comm->ranks[r].called.first)
		r++;
	gt_err_init(&err);
	gt_err_set(&err, GT_ESYS, NULL,
		   "rank %u has not called operation %llu within %.1f s of "
		   "rank %u; a thread that calls for several ranks puts the "
		   "calls in a group of all",
		   r, (unsigned long long)comm->ranks[r].ndone,
		   (double)comm->config.timeout_ns / 1e9, caller);
	gt_comm_fail(comm, GT_ESYS, &err);
}

/* Between two operations, a communicator is made beside this one. */
static void gt_comm_births(struct gtopo_comm *comm)
{
	struct gt_birth *birth;

	while (comm->state >= 0 && !comm->launching &&
	       (birth = gt_comm_world_due(comm))) {
		comm->launching = 1;
		gt_comm_bear(comm, birth);
		comm->launching = 0;
		pthread_cond_broadcast(&comm->changed);
	}
}

/* Whoever comes first launches all that can be; the others wait. */
static int gt_comm_launch(struct gtopo_comm *comm, int rank)
{
	int64_t until = gt_clock_ns() + comm->config.timeout_ns;
	int rc = gt_comm_made(comm);

	while (!rc && !gt_comm_is_done(comm, rank)) {
		gt_comm_births(comm);
		if (!comm->launching && gt_batch_launch(comm))
			;
		else if (!comm->launching && gt_comm_has_next(comm)) {
			comm->launching = 1;
			gt_comm_next(comm);
			comm->launching = 0;
			pthread_cond_broadcast(&comm->changed);
		} else if (comm->launching || gt_clock_ns() < until) {
			gt_comm_sleep(comm, gt_clock_ns() + GT_COMM_LOOK_NS);
		} else {
			gt_comm_missed(comm, rank);
		}
		rc = comm->state;
	}
	return rc;
}

int gt_comm_called(struct gtopo_comm *comm, int rank)
{
	if (comm->ops->async)
		return gt_comm_launch(comm, rank);
	pthread_cond_broadcast(&comm->changed);
	return GTOPO_OK;
}

/* One rank's stream, without the mutex meanwhile. */
static int gt_comm_await_rank(struct gtopo_comm *comm, uint32_t rank,
			      int64_t until_ns, struct gt_err *err)
{
	void *stream = comm->ranks[rank].stream;
	int rc;

	if (!comm->ranks[rank].ndone && !comm->ranks[rank].nbatches_done)
		return GT_OK;
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->ops->async->await(comm->engine, rank, stream, until_ns, err);
	pthread_mutex_lock(&comm->mutex);
	return rc;
}

int gt_comm_await(struct gtopo_comm *comm, int rank, int64_t until_ns)
{
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	for (uint32_t r = comm->first; !rc && r < comm->end; r++)
		if (rank == GTOPO_ALL_RANKS || r == (uint32_t)rank)
			rc = gt_comm_await_rank(comm, r, until_ns, &err);
	if (rc < 0 && rc != GT_ENO)
		gt_comm_fail(comm, rc, &err);
	return comm->state < 0 ? comm->state : gt_comm_code(rc);
}

/* In place is what lies in the same bytes for any rank. */
static int gt_comm_is_inplace(const struct gtopo_comm *comm,
			      const struct gt_exec_request *req)
{
	uint64_t bytes = req->count * gt_dtype_bytes(req->dtype);

	if (gt_coll_has_blocks(req->coll))
		bytes *= comm->nranks;
	for (uint32_t r = comm->first; r < comm->end; r++) {
		uintptr_t in = (uintptr_t)req->buffers[r].input;
		uintptr_t out = (uintptr_t)req->buffers[r].output;

		if (in && out && in < out + bytes && out < in + bytes)
			return 1;
	}
	return 0;
}

int gt_comm_enqueue(struct gtopo_comm *comm, uint32_t n, struct gt_err *err)
{
	struct gt_algo_choice choice;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < n; i++) {
		struct gt_exec_request *req = &comm->reqs[i];

		req->streams = comm->streams;
		req->inplace = gt_comm_is_inplace(comm, req);
		if (i && gt_exec_request_is_like(req, req - 1))
			continue;
		rc = comm->ops->algo_choice(comm->engine, req, &choice, err);
		/* Flows are the engine's own; the plan's programs are not. */
		if (!rc && choice.protocol == GT_PROTOCOL_SIMPLE)
			rc = gt_comm_verify(comm, req, err);
	}
	return rc ? rc
		  : comm->ops->async->enqueue(comm->engine, comm->reqs, n, err);
}

/* Others want memory back that they lent. */
static void gt_comm_tend(struct gtopo_comm *comm)
{
	if (comm->state < 0 || comm->launching ||
	    !comm->ops->async->release_requested(comm->engine) ||
	    gt_comm_seize(comm))
		return;
	comm->ops->async->service_releases(comm->engine);
	gt_comm_release(comm);
}

/* One look, without the mutex. */
static void gt_comm_look(struct gtopo_comm *comm)
{
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->ops->async->watch(comm->engine, &err);
	pthread_mutex_lock(&comm->mutex);
	if (rc)
		gt_comm_fail(comm, rc, &err);
}

void gt_comm_guard(struct gtopo_comm *comm)
{
	while (!comm->quit) {
		gt_comm_births(comm);
		gt_comm_tend(comm);
		gt_comm_look(comm);
		if (!comm->quit)
			gt_comm_sleep(comm, gt_clock_ns() + GT_COMM_LOOK_NS);
	}
	if (comm->state == GTOPO_OK)
		gt_comm_await(comm, GTOPO_ALL_RANKS, -1);
	/* What failed here only is told to what runs on the GPUs. */
	if (comm->state < 0)
		atomic_store(&comm->interrupt, 1);
	gt_comm_look(comm);
}
