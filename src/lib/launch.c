/*
 * The launch protocol (lib/launch.h): operations and messages, off their
 * queues and into the engine.
 */
#include "lib/launch.h"

#include "base/clock.h"
#include "base/must.h"
#include "lib/batch.h"
#include "lib/job.h"
#include "lib/operation.h"
#include "lib/queue.h"
#include "lib/sendrecv_remote.h"
#include "plan/ir/plan.h"

enum { GT_LAUNCH_LOOK_NS = 20000000 }; /* between looks at who else launches */

/* Whichever function it came by, one thread has the engine at a time. */
static void gt_launch_take(struct gtopo_comm *comm)
{
	GT_MUST(!comm->engine_busy);
	comm->engine_busy = 1;
}

static void gt_launch_give(struct gtopo_comm *comm)
{
	GT_MUST(comm->engine_busy);
	comm->engine_busy = 0;
}

int gt_launch_acquire(struct gtopo_comm *comm)
{
	int rc = gt_comm_await_open(comm);

	while (!rc && comm->engine_busy) {
		pthread_cond_wait(&comm->changed, &comm->mutex);
		rc = comm->state;
	}
	if (rc)
		return rc;
	gt_launch_take(comm);
	pthread_mutex_unlock(&comm->mutex);
	return GTOPO_OK;
}

void gt_launch_release(struct gtopo_comm *comm)
{
	pthread_mutex_lock(&comm->mutex);
	gt_launch_give(comm);
	pthread_cond_broadcast(&comm->changed);
}

int gt_launch_spawn(struct gtopo_comm *comm)
{
	struct gt_spawn *spawn = comm->state < 0 || comm->engine_busy
					 ? NULL
					 : gt_job_spawn_due(comm);
	int rc;

	if (!spawn)
		return 0;
	gt_remote_attend(comm, 0);
	comm->spawns = spawn->next;
	spawn->busy = 1;
	gt_launch_take(comm);
	pthread_mutex_unlock(&comm->mutex);
	rc = gt_job_spawn(comm, spawn);
	pthread_mutex_lock(&comm->mutex);
	if (rc)
		gt_comm_fail(comm, rc, &spawn->err);
	spawn->busy = 0;
	spawn->done = 1;
	gt_launch_give(comm);
	pthread_cond_broadcast(&comm->changed);
	return 1;
}

/* An operation is in place if the bytes of any rank's buffers overlap. */
static int gt_launch_is_inplace(const struct gtopo_comm *comm,
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

/*
 * Does the plan do the operation, and in place only if it allows that?  Where
 * it does not, all processes find so alike, but for buffers that overlap.
 */
static int gt_launch_verify(struct gtopo_comm *comm,
			    const struct gt_exec_request *req, int *refused,
			    struct gt_err *err)
{
	int rc;

	if (comm->plan->out_of_place && gt_launch_is_inplace(comm, req)) {
		*refused = !comm->world;
		return gt_err_set(err, GT_EINPUT, comm->plan->file,
				  "is for operations out of place only, and "
				  "the buffers of %s overlap",
				  gt_coll_name(req->coll));
	}
	rc = gt_operation_verify(comm, req, err);
	*refused = rc == GT_EINPUT || rc == GT_ENO;
	return rc;
}

/* The host runs one operation, which all processes agree on before. */
static int gt_launch_run(struct gtopo_comm *comm, const char *operation,
			 int *refused, struct gt_err *err)
{
	const struct gt_exec_request *req = &comm->reqs[0];
	int64_t elapsed_ns;
	int rc = gt_job_agree(comm, operation, err);

	if (!rc)
		rc = gt_launch_verify(comm, req, refused, err);
	return rc ? rc : comm->ops->run(comm->engine, req, 1, &elapsed_ns, err);
}

/* GPUs: put the first n of comm->reqs on the streams. */
static int gt_launch_enqueue(struct gtopo_comm *comm, uint32_t n, int *refused,
			     struct gt_err *err)
{
	struct gt_algo_choice choice;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < n; i++) {
		struct gt_exec_request *req = &comm->reqs[i];

		req->streams = comm->streams;
		req->inplace = gt_launch_is_inplace(comm, req);
		if (comm->has_taken &&
		    gt_exec_request_is_like(req, &comm->taken))
			continue;
		rc = comm->ops->algo_choice(comm->engine, req, &choice, err);
		*refused = rc == GT_EINPUT;
		/*
		 * Flows and meshes are the engine's own, the plan's programs
		 * are not.
		 */
		if (!rc && choice.protocol == GT_PROTOCOL_SIMPLE &&
		    !gt_algo_fits_shape((enum gt_algo)choice.algo,
					GT_SHAPE_MESH))
			rc = gt_launch_verify(comm, req, refused, err);
		comm->taken = *req;
		comm->has_taken = !rc;
	}
	if (rc)
		return rc;
	rc = comm->ops->async->enqueue(comm->engine, comm->reqs, n, err);
	*refused = rc == GT_ENO;
	return rc;
}

/*
 * The engine is this thread's; the mutex is let go meanwhile.  *refused is set
 * where an error leaves everything as it was, but that the calls are taken.
 */
static int gt_launch_operations(struct gtopo_comm *comm, uint32_t n,
				int *refused, struct gt_err *err)
{
	char text[GT_OPERATION_TEXT_MAX];
	int rc;

	*refused = 0;
	/* To agree on it would take longer than a GPU's operation. */
	if (!comm->ops->async)
		gt_operation_describe(comm, text);
	rc = gt_operation_take(comm, n, err);
	if (rc)
		return rc;
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->ops->async ? gt_launch_enqueue(comm, n, refused, err)
			      : gt_launch_run(comm, text, refused, err);
	pthread_mutex_lock(&comm->mutex);
	return rc;
}

/* All ranks have called what the plan does not do: each of them is told. */
static void gt_launch_refuse(struct gtopo_comm *comm, const struct gt_err *err)
{
	comm->refusal = *err;
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (!comm->ranks[r].not_done)
			comm->ranks[r].not_done = GTOPO_EINPUT;
}

int gt_launch_next(struct gtopo_comm *comm)
{
	struct gt_err err;
	uint32_t n;
	int rc, refused;

	if (!gt_operation_is_ready(comm))
		return 0;
	gt_err_init(&err);
	gt_remote_attend(comm, 0);
	n = comm->ops->async ? comm->ranks[comm->first].called.first->group : 1;
	comm->partial_since_ns = 0;
	gt_launch_take(comm);
	rc = gt_launch_operations(comm, n, &refused, &err);
	gt_launch_give(comm);
	if (refused)
		gt_launch_refuse(comm, &err);
	else if (rc)
		gt_comm_fail(comm, rc, &err);
	for (uint32_t r = comm->first; (!rc || refused) && r < comm->end; r++) {
		comm->ranks[r].ndone += n;
		/* All of a group's calls were there when it was taken. */
		GT_MUST(comm->ranks[r].ndone <= comm->ranks[r].ncalled);
	}
	pthread_cond_broadcast(&comm->changed);
	return 1;
}

/* The first rank whose next call is a batch of messages, or NULL. */
static struct gt_comm_rank *gt_launch_find_batch(struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (gt_batch_at(comm, r))
			return &comm->ranks[r];
	return NULL;
}

/* GPUs: put a batch that is next on its rank's stream; 0: there is none. */
static int gt_launch_batch(struct gtopo_comm *comm)
{
	struct gt_comm_rank *me = gt_launch_find_batch(comm);
	struct gt_call *call;
	struct gt_err err;
	int rc;

	if (!me)
		return 0;
	gt_err_init(&err);
	call = me->called.first;
	gt_launch_take(comm);
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->ops->async->sendrecv(
		comm->engine, (uint32_t)(me - comm->ranks), call->stream,
		call->batch->messages, call->batch->n, &err);
	pthread_mutex_lock(&comm->mutex);
	gt_launch_give(comm);
	if (rc == GT_ENO) {
		comm->refusal = err;
		me->not_done = GTOPO_EINPUT;
	} else if (rc) {
		gt_comm_fail(comm, rc, &err);
	}
	gt_queue_pop(&me->called);
	me->nbatches_done++;
	pthread_cond_broadcast(&comm->changed);
	return 1;
}

/* A rank that others wait for has not called in time. */
static void gt_launch_missed(struct gtopo_comm *comm, int rank)
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
		   "rank %u%s",
		   r, (unsigned long long)comm->ranks[r].ndone,
		   (double)comm->config.timeout_ns / 1e9, caller,
		   comm->ops->async ? "; a thread that calls for several ranks "
				      "puts the calls in a group of all"
				    : "");
	gt_comm_fail(comm, GT_ESYS, &err);
}

int64_t gt_launch_limit(struct gtopo_comm *comm)
{
	int caller = -1, absent = 0, messages = 0;

	for (uint32_t r = comm->end; r-- > comm->first;)
		if (!comm->ranks[r].called.first)
			absent = 1;
		else if (gt_batch_at(comm, r))
			messages = 1;
		else
			caller = (int)r;
	/* Messages have a limit of their own, and tell more when it is over. */
	if (caller < 0 || !absent || messages) {
		comm->partial_since_ns = 0;
		return INT64_MAX;
	}
	if (!comm->partial_since_ns)
		comm->partial_since_ns = gt_clock_ns();
	if (gt_clock_ns() - comm->partial_since_ns >= comm->config.timeout_ns)
		gt_launch_missed(comm, caller);
	return comm->partial_since_ns + comm->config.timeout_ns;
}

/* GPUs: whoever comes first launches all that can be; the others wait. */
static int gt_launch_all(struct gtopo_comm *comm, int rank)
{
	int64_t until = gt_clock_ns() + comm->config.timeout_ns;
	int rc = gt_comm_await_open(comm);

	while (!rc && !gt_comm_is_done(comm, rank)) {
		while (gt_launch_spawn(comm))
			;
		if (!comm->engine_busy &&
		    (gt_launch_batch(comm) || gt_launch_next(comm)))
			;
		else if (comm->engine_busy || gt_clock_ns() < until)
			gt_comm_sleep(comm, gt_clock_ns() + GT_LAUNCH_LOOK_NS);
		else
			gt_launch_missed(comm, rank);
		rc = comm->state;
	}
	return rc ? rc : gt_comm_tell_not_done(comm, rank);
}

int gt_launch_called(struct gtopo_comm *comm, int rank)
{
	if (comm->ops->async)
		return gt_launch_all(comm, rank);
	pthread_cond_broadcast(&comm->changed);
	return GTOPO_OK;
}

/* Wait for one rank's stream, without the mutex meanwhile. */
static int gt_launch_await_rank(struct gtopo_comm *comm, uint32_t rank,
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

int gt_launch_await(struct gtopo_comm *comm, int rank, int64_t until_ns)
{
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	for (uint32_t r = comm->first; !rc && r < comm->end; r++)
		if (rank == GTOPO_ALL_RANKS || r == (uint32_t)rank)
			rc = gt_launch_await_rank(comm, r, until_ns, &err);
	if (rc == GT_ENO)
		comm->refusal = err;
	else if (rc < 0)
		gt_comm_fail(comm, rc, &err);
	return comm->state < 0 ? comm->state : gt_comm_code(rc);
}
