/*
 * The communicator's thread: it makes the engine and ends it.  In between it
 * does on the host all that ranks call, and on GPUs looks for failures.
 */
#include "lib/state.h"

#include "base/clock.h"
#include "lib/job.h"
#include "lib/launch.h"
#include "lib/relays.h"
#include "lib/sendrecv_host.h"
#include "lib/sendrecv_remote.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"

enum { GT_THREAD_LOOK_NS = 20000000 }; /* between looks at the GPUs */

/*
 * All processes are here now, and need not be when two ranks have messages.
 * Where there can be no messages, the first one that is called fails.
 */
static int gt_thread_setup_messages(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_err none;
	int rc;

	gt_err_init(&none);
	rc = comm->ops->async->sendrecv_setup(comm->engine, &none);
	return !rc || rc == GT_EINPUT
		       ? GT_OK
		       : gt_err_set(err, rc, NULL, "%s", none.text);
}

static int gt_thread_open(struct gtopo_comm *comm, struct gt_err *err)
{
	int rc = gt_plan_check(comm->plan, err);

	if (!rc)
		rc = gt_job_open(comm, err);
	else if (comm->sibling)
		gt_job_decline_beside(comm, comm->sibling, err);
	else if (comm->job.size > 1 && !comm->config.world)
		gt_job_decline(&comm->job, comm->config.timeout_ns, err);
	if (!rc)
		rc = comm->ops->open(&comm->config, &comm->engine, err);
	if (!rc && comm->world)
		rc = comm->ops->async ? gt_thread_setup_messages(comm, err)
				      : gt_remote_open(comm, err);
	if (!rc && !comm->ops->async)
		rc = gt_relays_new(comm, &comm->relays, err);
	return rc;
}

/*
 * Close what was deregistered.  That waits for the GPUs, and they may wait for
 * a call of this process, which must find the engine free.
 */
static void gt_thread_release_memory(struct gtopo_comm *comm)
{
	if (comm->state < 0 ||
	    !comm->ops->async->release_requested(comm->engine))
		return;
	pthread_mutex_unlock(&comm->mutex);
	comm->ops->async->service_releases(comm->engine);
	pthread_mutex_lock(&comm->mutex);
}

/* Look once, without the mutex, whether anything on the GPUs has failed. */
static void gt_thread_look(struct gtopo_comm *comm)
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

/* With the mutex held: look after the GPUs until the communicator ends. */
static void gt_thread_watch(struct gtopo_comm *comm)
{
	while (!comm->quit) {
		while (gt_launch_spawn(comm))
			;
		gt_thread_release_memory(comm);
		gt_thread_look(comm);
		if (!comm->quit)
			gt_comm_sleep(comm, gt_clock_ns() + GT_THREAD_LOOK_NS);
	}
	if (comm->state == GTOPO_OK)
		gt_launch_await(comm, GTOPO_ALL_RANKS, -1);
	/* The GPUs do not know yet what has failed only here. */
	if (comm->state < 0)
		atomic_store(&comm->interrupt, 1);
	gt_thread_look(comm);
}

/* With the mutex held: do what ranks on the host call, until the end. */
static void gt_thread_run(struct gtopo_comm *comm)
{
	int64_t until_ns;

	while (comm->state >= 0) {
		if (gt_launch_spawn(comm) || gt_sendrecv_move(comm) ||
		    gt_launch_next(comm))
			continue;
		if (comm->quit)
			break;
		until_ns = gt_launch_limit(comm);
		if (comm->state >= 0)
			gt_sendrecv_sleep(comm, until_ns);
	}
}

/*
 * Nothing uses callers' buffers any more; by the job's world those that are
 * left of a failed communicator still find each other (gtopo_comm_shrink()).
 */
static void gt_thread_await_quit(struct gtopo_comm *comm)
{
	pthread_mutex_lock(&comm->mutex);
	comm->has_ended = 1;
	pthread_cond_broadcast(&comm->changed);
	while (!comm->quit)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	pthread_mutex_unlock(&comm->mutex);
}

void *gt_thread_main(void *arg)
{
	struct gtopo_comm *comm = arg;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_thread_open(comm, &err);
	pthread_mutex_lock(&comm->mutex);
	if (rc)
		gt_comm_fail(comm, rc, &err);
	/* Others may wait for what could not be made here. */
	if (rc && comm->world)
		gt_world_abort_for(comm->world, &comm->err);
	if (!rc && comm->state == GTOPO_IN_PROGRESS) {
		comm->state = GTOPO_OK;
		comm->was_made = 1;
	}
	pthread_cond_broadcast(&comm->changed);
	if (comm->ops->async && comm->engine)
		gt_thread_watch(comm);
	else if (!comm->ops->async)
		gt_thread_run(comm);
	gt_remote_attend(comm, 0);
	gt_err_init(&err);
	comm->lost = comm->world && gt_world_failed(comm->world, &err);
	/* Before memory is freed that they look for. */
	if (comm->state < 0 && comm->world && !comm->ops->async)
		gt_world_abort_for(comm->world, &comm->err);
	pthread_mutex_unlock(&comm->mutex);
	if (comm->engine)
		comm->ops->close(comm->engine);
	/* Others may still look into this process's memory, or receive. */
	gt_job_leave(comm);
	gt_remote_close(comm);
	gt_thread_await_quit(comm);
	gt_job_close(comm);
	return NULL;
}
