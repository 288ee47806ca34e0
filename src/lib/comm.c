/*
 * Communicators as a user sees them: made, asked, waited for, ended.
 */
#include "lib/state.h"

#include <config.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/batch.h"
#include "lib/embed.h"
#include "lib/job.h"
#include "lib/launch.h"
#include "lib/queue.h"
#include "lib/relays.h"
#include "lib/shrink.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

static const int64_t GT_COMM_TIMEOUT_MAX_MS = INT64_C(1) << 40;

enum { GT_COMM_LOOK_NS = 20000000 };

const char *gtopo_version(void)
{
	return PACKAGE_VERSION;
}

static void gt_regions_free(struct gt_region *region)
{
	struct gt_region *next;

	for (; region; region = next) {
		next = region->next;
		free(region);
	}
}

/* Free what was allocated, whether the thread ever ran or not. */
static void gt_comm_free(struct gtopo_comm *comm)
{
	for (uint32_t r = 0; comm->ranks && r < comm->nranks; r++) {
		gt_queue_free(&comm->ranks[r].called);
		gt_queue_free(&comm->ranks[r].held);
		gt_batch_free(comm->ranks[r].batch);
		gt_regions_free(comm->ranks[r].regions);
		free(comm->ranks[r].premuls);
		free(comm->ranks[r].relayed);
	}
	gt_message_queues_free(comm);
	gt_relays_free(comm->relays);
	pthread_cond_destroy(&comm->changed);
	pthread_mutex_destroy(&comm->mutex);
	gt_job_forget(comm);
	gt_shrink_free_plans(comm);
	free(comm->verified);
	free(comm->buffers);
	free(comm->reqs);
	free(comm->streams);
	free(comm->starts);
	free(comm->origins);
	free(comm->based);
	free(comm->scalars);
	free(comm->ranks);
	free(comm);
}

static struct gtopo_comm *gt_comm_new(void)
{
	struct gtopo_comm *comm = calloc(1, sizeof(*comm));
	pthread_condattr_t attr;

	if (!comm)
		return NULL;
	gt_err_init(&comm->err);
	gt_err_init(&comm->refusal);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&comm->mutex, NULL);
	pthread_cond_init(&comm->changed, &attr);
	pthread_condattr_destroy(&attr);
	comm->state = GTOPO_IN_PROGRESS;
	comm->job.size = 1;
	comm->job.listen_fd = -1;
	comm->pass = 1;
	return comm;
}

static int gt_comm_engine(struct gtopo_comm *comm, enum gtopo_device device,
			  struct gt_err *err)
{
	static const char *const names[] = {[GTOPO_HOST] = "host",
					    [GTOPO_CUDA] = "cuda",
					    [GTOPO_AUTO] = NULL};

	comm->ops = gt_engine_find(names[device]);
	if (comm->ops)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "this libgtopo was built without CUDA");
}

/* Room for the ranks of a plan, which is taken. */
static int gt_comm_setup(struct gtopo_comm *comm, struct gt_plan *plan,
			 struct gt_err *err)
{
	int rc = gt_plan_need_forwarding(plan, "libgtopo", err);

	comm->plan = plan;
	if (rc)
		return rc;
	comm->nranks = plan->nranks;
	comm->end = comm->nranks;
	comm->ranks = calloc(comm->nranks, sizeof(*comm->ranks));
	comm->streams = calloc(comm->nranks, sizeof(*comm->streams));
	comm->verified = calloc(comm->nranks, sizeof(*comm->verified));
	if (!comm->ranks || !comm->streams || !comm->verified)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < comm->nranks; r++) {
		gt_queue_init(&comm->ranks[r].called);
		gt_queue_init(&comm->ranks[r].held);
	}
	return GT_OK;
}

static int gt_comm_configure(struct gtopo_comm *comm,
			     const struct gtopo_config *config,
			     struct gt_err *err)
{
	comm->config = (struct gt_engine_config){
		.plan = comm->plan,
		.timeout_ns = config->timeout_ms * 1000000,
		.interrupt = &comm->interrupt,
		.best = (config->flags & GTOPO_BEST) != 0,
		.overlap = !(config->flags & (GTOPO_BEST | GTOPO_ROWS)),
		.invariant = (config->flags & GTOPO_INVARIANT) != 0,
		.max_blocks = config->max_blocks < UINT32_MAX
				      ? (uint32_t)config->max_blocks
				      : UINT32_MAX,
		.map = config->flags & GTOPO_MAP_SHARE   ? GT_DEVICE_SHARED
		       : config->flags & GTOPO_MAP_INDEX ? GT_DEVICE_BY_INDEX
							 : GT_DEVICE_BY_ID,
	};
	return gt_comm_engine(comm, config->device, err);
}

static int gt_comm_start_thread(struct gtopo_comm *comm, struct gt_err *err)
{
	int rc = pthread_create(&comm->thread, NULL, gt_thread_main, comm);

	return rc ? gt_err_set(err, GT_ESYS, NULL, "cannot start a thread: %s",
			       strerror(rc))
		  : GT_OK;
}

static int gt_comm_begin(struct gtopo_comm *comm,
			 const struct gtopo_config *config, struct gt_err *err)
{
	struct gt_plan *plan;
	int rc = config->plan
			 ? gt_plan_read(config->plan, &plan, err)
			 : gt_plan_parse("plan", config->plan_text,
					 strlen(config->plan_text), &plan, err);

	if (!rc)
		rc = gt_comm_setup(comm, plan, err);
	if (!rc)
		rc = gt_comm_configure(comm, config, err);
	if (!rc && config->beside)
		rc = gt_job_join(comm, config->beside, err);
	else if (!rc && config->flags & GTOPO_LAUNCHED)
		rc = gt_job_find(comm, err);
	if (!rc)
		rc = gt_comm_start_thread(comm, err);
	return rc;
}

int gt_comm_embed(const struct gtopo_config *config, struct gt_plan *plan,
		  const struct gt_world_config *job, gt_comm_teller *tell,
		  struct gtopo_comm **out, struct gt_err *err)
{
	struct gtopo_comm *comm = gt_comm_new();
	int rc;

	if (!comm) {
		gt_plan_free(plan);
		if (!job->rank && job->listen_fd >= 0)
			close(job->listen_fd);
		return gt_err_nomem(err);
	}
	comm->job = *job;
	comm->job.interrupt = &comm->interrupt;
	rc = gt_comm_setup(comm, plan, err);
	if (!rc)
		rc = gt_plan_need_even(plan, "libnccl.so.2", err);
	if (!rc)
		rc = gt_comm_configure(comm, config, err);
	comm->notice = (struct gt_notice){tell, NULL};
	comm->config.notice = &comm->notice;
	if (!rc)
		rc = gt_job_place(comm, err);
	if (!rc)
		rc = gt_comm_start_thread(comm, err);
	if (rc) {
		gt_comm_free(comm);
		return rc;
	}
	*out = comm;
	return GT_OK;
}

/*
 * Members that the caller's version did not have yet are 0.  max_blocks was the
 * first to be added, then plan_text.
 */
static int gt_comm_complete(const struct gtopo_config *given,
			    struct gtopo_config *config, struct gt_err *err)
{
	const size_t first = offsetof(struct gtopo_config, max_blocks);
	const size_t second = offsetof(struct gtopo_config, plan_text);

	if (!given || (given->size != sizeof(*given) && given->size != first &&
		       given->size != second))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the config is not this version's");
	memset(config, 0, sizeof(*config));
	memcpy(config, given, given->size);
	return GT_OK;
}

static int gt_comm_check(const struct gtopo_config *config, struct gt_err *err)
{
	if (!config->plan && !config->plan_text)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the config names no plan");
	if (config->plan && config->plan_text)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the config has a plan and names a file; one "
				  "is enough");
	if (config->timeout_ms <= 0 ||
	    config->timeout_ms > GT_COMM_TIMEOUT_MAX_MS)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "timeout_ms '%lld' leaves no time",
				  (long long)config->timeout_ms);
	if (config->device > GTOPO_AUTO)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "device '%d' is not known",
				  (int)config->device);
	if (config->flags &
	    ~(unsigned)(GTOPO_NONBLOCKING | GTOPO_LAUNCHED | GTOPO_BEST |
			GTOPO_MAP_INDEX | GTOPO_MAP_SHARE | GTOPO_ROWS |
			GTOPO_INVARIANT))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "flags '%#x' are not known", config->flags);
	return GT_OK;
}

/* Without memory for a child there is only its sibling to end. */
static void gt_comm_tell(struct gtopo_comm *comm, const struct gt_err *err)
{
	pthread_mutex_lock(&comm->mutex);
	if (comm->world)
		gt_world_abort_for(comm->world, err);
	pthread_mutex_unlock(&comm->mutex);
}

/* Others of its job wait for what could not begin here. */
static void gt_comm_decline(struct gtopo_comm *comm,
			    const struct gtopo_config *config,
			    const struct gt_err *err)
{
	struct gt_world_config job = {.size = 1, .listen_fd = -1};

	if (config->beside && comm)
		gt_job_decline_beside(comm, config->beside, err);
	else if (config->beside)
		gt_comm_tell(config->beside, err);
	else if (config->flags & GTOPO_LAUNCHED)
		gt_job_decline(comm ? &comm->job : &job,
			       config->timeout_ms * 1000000, err);
	gt_secret_wipe(&job.secret);
}

static void gt_comm_print_err(const struct gt_err *err, char *message,
			      size_t size)
{
	if (message && size)
		gt_err_words(err, message, size);
}

int gt_comm_ready(struct gtopo_comm *comm, const _Atomic int *stop,
		  struct gt_err *err)
{
	int state;

	pthread_mutex_lock(&comm->mutex);
	while (stop && comm->state == GTOPO_IN_PROGRESS) {
		gt_comm_sleep(comm, gt_clock_ns() + GT_COMM_LOOK_NS);
		if (!atomic_load(stop))
			continue;
		pthread_mutex_unlock(&comm->mutex);
		gtopo_comm_abort(comm);
		pthread_mutex_lock(&comm->mutex);
	}
	state = gt_comm_await_open(comm);
	*err = comm->err;
	pthread_mutex_unlock(&comm->mutex);
	return state;
}

int gtopo_comm_create(const struct gtopo_config *given, struct gtopo_comm **out,
		      char *message, size_t size)
{
	struct gtopo_comm *comm = NULL;
	struct gtopo_config config;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_comm_complete(given, &config, &err);
	if (!rc)
		rc = out ? gt_comm_check(&config, &err)
			 : gt_err_set(&err, GT_EINPUT, NULL,
				      "there is no place for the communicator");
	if (!rc) {
		comm = gt_comm_new();
		rc = comm ? gt_comm_begin(comm, &config, &err)
			  : gt_err_nomem(&err);
		if (rc)
			gt_comm_decline(comm, &config, &err);
		if (rc && comm)
			gt_comm_free(comm);
	}
	if (!rc && !(config.flags & GTOPO_NONBLOCKING)) {
		rc = gt_comm_ready(comm, NULL, &err);
		if (rc)
			gtopo_comm_destroy(comm);
	}
	gt_comm_print_err(&err, message, size);
	if (rc)
		return gt_comm_code(rc);
	*out = comm;
	return GTOPO_OK;
}

void gtopo_comm_destroy(struct gtopo_comm *comm)
{
	if (!comm)
		return;
	pthread_mutex_lock(&comm->mutex);
	comm->quit = 1;
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->mutex);
	pthread_join(comm->thread, NULL);
	gt_comm_free(comm);
}

/* Make it of what is left of another one, which it takes over. */
static int gt_comm_begin_shrunk(struct gtopo_comm *comm,
				const struct gtopo_comm *old,
				struct gt_shrink *shrink, struct gt_err *err)
{
	int rc = gt_comm_setup(comm, shrink->plan, err);

	shrink->plan = NULL;
	comm->ops = old->ops;
	comm->config = old->config;
	comm->config.plan = comm->plan;
	comm->config.interrupt = &comm->interrupt;
	comm->config.world = comm->world = shrink->world;
	comm->starts = shrink->starts;
	comm->origins = shrink->origins;
	comm->base = shrink->base;
	comm->based = shrink->based;
	comm->config.starts = shrink->world ? comm->starts : NULL;
	comm->first = comm->starts[shrink->rank];
	comm->end = comm->starts[shrink->rank + 1];
	if (shrink->world)
		comm->job = *gt_world_config(shrink->world);
	*shrink = (struct gt_shrink){.size = 0};
	return rc ? rc : gt_comm_start_thread(comm, err);
}

/*
 * What has failed, or is to end, has ended before buffers are used again.  The
 * GPUs' kernels end by themselves, and streams are behind them.
 */
static void gt_comm_end_operations(struct gtopo_comm *comm, unsigned flags)
{
	int failed;

	if (flags & GTOPO_SHRINK_ABORT)
		gtopo_comm_abort(comm);
	pthread_mutex_lock(&comm->mutex);
	failed = gt_comm_await_open(comm) < 0;
	while (failed && !comm->ops->async && !comm->has_ended)
		pthread_cond_wait(&comm->changed, &comm->mutex);
	if (failed)
		atomic_store(&comm->interrupt, 1);
	pthread_mutex_unlock(&comm->mutex);
}

/* Others may have one of that world, which this process has not. */
static void gt_comm_take_back(struct gtopo_comm *old,
			      const struct gt_world *world)
{
	if (world)
		gt_world_take_back(old->world, world);
}

static int gt_comm_shrink(struct gtopo_comm *old, const int *excluded,
			  int nexcluded, struct gtopo_comm **out,
			  struct gt_err *err)
{
	struct gtopo_comm *comm;
	struct gt_shrink shrink;
	struct gt_world *world;
	int rc = gt_shrink_find(old, excluded, nexcluded, &shrink, err);

	if (rc)
		return rc;
	world = shrink.world;
	comm = gt_comm_new();
	rc = comm ? gt_comm_begin_shrunk(comm, old, &shrink, err)
		  : gt_err_nomem(err);
	if (rc) {
		gt_comm_take_back(old, world);
		gt_shrink_free(&shrink);
		if (comm)
			gt_world_close(comm->world);
		if (comm)
			gt_comm_free(comm);
		return rc;
	}
	rc = gt_comm_ready(comm, NULL, err);
	if (rc && !comm->was_made) {
		gt_comm_take_back(old, world);
		gtopo_comm_destroy(comm);
		return rc;
	}
	/* If it has failed since, others may have it; none is to be ahead. */
	gt_err_init(err);
	*out = comm;
	return GT_OK;
}

int gtopo_comm_shrink(struct gtopo_comm *comm, const int *excluded,
		      int nexcluded, unsigned flags, struct gtopo_comm **out,
		      char *message, size_t size)
{
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	if (!out || nexcluded < 0 || (nexcluded && !excluded) ||
	    flags & ~(unsigned)GTOPO_SHRINK_ABORT)
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"flags '%#x' or '%d' excluded ranks make no "
				"sense, or there is no place for the "
				"communicator",
				flags, nexcluded);
	if (!rc) {
		gt_comm_end_operations(comm, flags);
		rc = gt_comm_shrink(comm, excluded, nexcluded, out, &err);
	}
	gt_comm_print_err(&err, message, size);
	return rc ? gt_comm_code(rc) : GTOPO_OK;
}

int gtopo_comm_origin(const struct gtopo_comm *comm, int rank)
{
	if (rank < 0 || (uint32_t)rank >= comm->nranks)
		return GTOPO_EINPUT;
	return comm->origins ? (int)comm->origins[rank] : rank;
}

int gtopo_comm_ranks(const struct gtopo_comm *comm)
{
	return (int)comm->nranks;
}

void gtopo_comm_local(const struct gtopo_comm *comm, int *first, int *count)
{
	if (first)
		*first = (int)comm->first;
	if (count)
		*count = (int)(comm->end - comm->first);
}

int gtopo_comm_state(struct gtopo_comm *comm)
{
	int state;

	pthread_mutex_lock(&comm->mutex);
	state = comm->state;
	pthread_mutex_unlock(&comm->mutex);
	return state;
}

void gtopo_comm_message(struct gtopo_comm *comm, char *message, size_t size)
{
	pthread_mutex_lock(&comm->mutex);
	gt_comm_print_err(comm->state < 0 ? &comm->err : &comm->refusal,
			  message, size);
	pthread_mutex_unlock(&comm->mutex);
}

int gt_comm_verdict(struct gtopo_comm *comm, int *lost, struct gt_err *err)
{
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	pthread_mutex_lock(&comm->mutex);
	*lost = comm->lost ||
		(comm->world && gt_world_failed(comm->world, &why));
	rc = comm->state < 0 ? comm->state : *lost ? GT_ESYS : GT_OK;
	if (rc)
		*err = comm->state < 0 ? comm->err : why;
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

/* What has failed before is told to the others, who may not know it yet. */
void gtopo_comm_abort(struct gtopo_comm *comm)
{
	char words[sizeof(comm->err.where) + sizeof(comm->err.text)];

	atomic_store(&comm->interrupt, 1);
	pthread_mutex_lock(&comm->mutex);
	if (comm->state >= 0) {
		comm->state = GTOPO_EABORTED;
		gt_err_set(&comm->err, GTOPO_EABORTED, NULL, "aborted");
	}
	gt_comm_print_err(&comm->err, words, sizeof(words));
	if (comm->world)
		gt_world_abort(comm->world, words);
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->mutex);
}

int gtopo_comm_stream(struct gtopo_comm *comm, int rank, void *stream)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = comm->ops->async
		     ? gt_comm_check_rank(comm, rank)
		     : gt_comm_refuse(comm, "ranks on the host have no stream");
	if (!rc)
		comm->ranks[rank].stream = stream;
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gtopo_comm_gpu(struct gtopo_comm *comm, int rank)
{
	int device = -1;

	if (!comm->ops->async || !gt_comm_is_rank(comm, rank))
		return -1;
	pthread_mutex_lock(&comm->mutex);
	if (gt_comm_await_open(comm) == GTOPO_OK)
		device = comm->ops->async->device(comm->engine, (uint32_t)rank);
	pthread_mutex_unlock(&comm->mutex);
	return device;
}

/* With the mutex held: wait until the rank's calls are done, or it is time. */
static int gt_comm_await_done(struct gtopo_comm *comm, int rank,
			      int64_t until_ns)
{
	int late = 0;

	while (comm->state >= 0 && !late && !gt_comm_is_done(comm, rank))
		if (until_ns < 0)
			pthread_cond_wait(&comm->changed, &comm->mutex);
		else
			late = gt_comm_sleep(comm, until_ns);
	if (comm->state < 0)
		return comm->state;
	return gt_comm_is_done(comm, rank) ? GTOPO_OK : GTOPO_IN_PROGRESS;
}

int gtopo_wait(struct gtopo_comm *comm, int rank, int64_t timeout_ms)
{
	int64_t until = -1;
	int rc = GTOPO_OK;

	if (timeout_ms >= 0 && timeout_ms <= GT_COMM_TIMEOUT_MAX_MS)
		until = gt_clock_ns() + timeout_ms * 1000000;
	pthread_mutex_lock(&comm->mutex);
	if (rank != GTOPO_ALL_RANKS)
		rc = gt_comm_check_rank(comm, rank);
	if (!rc)
		rc = gt_comm_await_done(comm, rank, until);
	if (!rc && comm->ops->async)
		rc = gt_launch_await(comm, rank, until);
	if (!rc)
		rc = gt_comm_tell_not_done(comm, rank);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}
