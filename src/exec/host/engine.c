/*
 * The host engine's table of functions (exec/engine.h): the caller's side,
 * which hands jobs to the rank threads.
 */
#include "exec/host/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	GT_HOST_SPINS = 2000,
	/*
	 * Polls from one yield to the next; it is fewer where a round also
	 * polls sockets, since that takes longer.
	 */
	GT_HOST_YIELDS = 128,
	GT_HOST_YIELDS_WIRES = 16,
};

static int gt_host_init_locks(struct gt_engine *engine)
{
	pthread_condattr_t attr;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_mutex_init(&engine->mutex, NULL) ||
	     pthread_cond_init(&engine->go, NULL) ||
	     pthread_cond_init(&engine->done, &attr);
	pthread_condattr_destroy(&attr);
	return rc;
}

static struct gt_engine *gt_host_new(const struct gt_engine_config *config)
{
	uint32_t n = config->plan->nranks;
	struct gt_engine *engine =
		aligned_alloc(GT_CACHE_LINE_BYTES, sizeof(*engine));

	if (!engine)
		return NULL;
	memset(engine, 0, sizeof(*engine));
	engine->config = *config;
	engine->nranks = n;
	engine->workers = config->workers ? config->workers : 1;
	engine->watched = calloc(n + 1, sizeof(*engine->watched));
	engine->ranks =
		aligned_alloc(GT_CACHE_LINE_BYTES, n * sizeof(*engine->ranks));
	if (!engine->watched || !engine->ranks || gt_host_init_locks(engine)) {
		free(engine->watched);
		free(engine->ranks);
		free(engine);
		return NULL;
	}
	memset(engine->ranks, 0, n * sizeof(*engine->ranks));
	engine->group.bells.fd = -1;
	for (uint32_t r = 0; r < n; r++) {
		engine->ranks[r].engine = engine;
		engine->ranks[r].rank = r;
	}
	return engine;
}

/* Find the other processes, and which ranks are in this one. */
static int gt_host_join(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_engine_config *config = &engine->config;
	const struct gt_process_group_config group = {
		.world = config->world,
		.starts = config->starts,
		.nranks = engine->nranks,
		.plan = config->plan,
		.notice = config->notice,
		.link = config->link,
		.trace = config->trace_links,
		.iface = config->iface};
	int rc = gt_process_group_open(&engine->group, &group, err);
	struct gt_bell *bells = engine->group.bells.base;

	if (rc)
		return rc;
	engine->first = engine->group.first;
	engine->end = engine->group.end;
	for (uint32_t r = engine->first; r < engine->end; r++)
		engine->ranks[r].bell = &bells[r - engine->first];
	return gt_process_group_link(&engine->group, NULL, err);
}

static void gt_host_close(struct gt_engine *engine)
{
	if (!engine)
		return;
	gt_host_threads_join(engine);
	gt_host_lanes_free(engine);
	gt_host_memory_free(engine);
	gt_process_group_close(&engine->group);
	pthread_cond_destroy(&engine->done);
	pthread_cond_destroy(&engine->go);
	pthread_mutex_destroy(&engine->mutex);
	free(engine->watched);
	free(engine->ranks);
	free(engine);
}

/*
 * Has each rank on this host a processor, so that it may poll?  All may share
 * all processors, or a launcher may have given each process its own.
 */
static int gt_host_has_cpus(const struct gt_engine *engine)
{
	return gt_cpus_count() >= gt_host_nlocal(engine) &&
	       engine->group.ncpus >= engine->group.nhere;
}

static int gt_host_open(const struct gt_engine_config *config,
			struct gt_engine **out, struct gt_err *err)
{
	struct gt_engine *engine = gt_host_new(config);
	int rc;

	if (!engine)
		return gt_err_nomem(err);
	rc = gt_host_join(engine, err);
	engine->spins = gt_host_has_cpus(engine) ? GT_HOST_SPINS : 0;
	engine->yields = gt_process_group_has_wires(&engine->group)
				 ? GT_HOST_YIELDS_WIRES
				 : GT_HOST_YIELDS;
	if (!rc)
		rc = gt_host_memory_new(engine, err);
	if (!rc)
		rc = gt_host_threads_start(engine, err);
	if (rc) {
		gt_process_group_tell(&engine->group, rc, err);
		gt_host_close(engine);
		return rc;
	}
	*out = engine;
	return GT_OK;
}

/* Hand a job to all rank threads and wait until all have done it. */
static int gt_host_do(struct gt_engine *engine, enum gt_host_job job,
		      const struct gt_exec_request *req, struct gt_err *err)
{
	int rc;

	pthread_mutex_lock(&engine->mutex);
	engine->job = job;
	engine->req = *req;
	engine->ndone = 0;
	atomic_store(&engine->arrived, 0);
	atomic_store(&engine->start_ns, 0);
	memset(engine->watched, 0,
	       (engine->nranks + 1) * sizeof(*engine->watched));
	for (uint32_t r = engine->first; r < engine->end; r++) {
		atomic_store(&engine->ranks[r].done, 0);
		atomic_store(&engine->ranks[r].moved, 0);
	}
	engine->job_number++;
	pthread_cond_broadcast(&engine->go);
	pthread_mutex_unlock(&engine->mutex);
	rc = gt_host_watch(engine, err);
	engine->failed = !!rc;
	return rc;
}

static int gt_host_begin(struct gt_engine *engine,
			 const struct gt_exec_request *req, struct gt_err *err)
{
	if (engine->failed)
		return gt_err_set(err, GT_ESYS, NULL,
				  "the engine has stopped after a failure");
	return gt_host_memory_place(engine, req, err);
}

static int gt_host_do_fill(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_err *err)
{
	int rc = gt_host_begin(engine, req, err);

	return rc ? rc : gt_host_do(engine, GT_HOST_FILL, req, err);
}

static int gt_host_do_run(struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t iters,
			  int64_t *elapsed_ns, struct gt_err *err)
{
	struct gt_world *world = engine->group.world;
	uint64_t longest_ns;
	int64_t end_ns = 0;
	int rc = gt_host_begin(engine, req, err);

	if (!rc)
		rc = gt_host_lanes_prepare(engine, req, err);
	/* The clock starts when all processes are ready. */
	if (!rc && world)
		rc = gt_world_allgather(world, NULL, 0, NULL, err);
	if (rc)
		return rc;
	engine->iters = iters;
	rc = gt_host_do(engine, GT_HOST_RUN, req, err);
	if (rc)
		return rc;
	for (uint32_t r = engine->first; r < engine->end; r++)
		if (engine->ranks[r].end_ns > end_ns)
			end_ns = engine->ranks[r].end_ns;
	longest_ns = (uint64_t)(end_ns - atomic_load(&engine->start_ns));
	rc = world ? gt_world_max(world, &longest_ns, err) : GT_OK;
	*elapsed_ns = (int64_t)longest_ns;
	return rc;
}

static int gt_host_do_check(struct gt_engine *engine,
			    const struct gt_exec_request *req, uint64_t *wrong,
			    struct gt_err *err)
{
	uint64_t sum = 0;
	int rc = gt_host_begin(engine, req, err);

	if (!rc)
		rc = gt_host_do(engine, GT_HOST_CHECK, req, err);
	if (rc)
		return rc;
	for (uint32_t r = engine->first; r < engine->end; r++)
		sum += engine->ranks[r].wrong;
	rc = engine->group.world ? gt_world_sum(engine->group.world, &sum, err)
				 : GT_OK;
	*wrong = sum;
	return rc;
}

static int gt_host_usable(void)
{
	return 1;
}

const struct gt_engine_ops gt_engine_host = {
	.name = "host",
	.usable = gt_host_usable,
	.open = gt_host_open,
	.close = gt_host_close,
	.fill = gt_host_do_fill,
	.run = gt_host_do_run,
	.check = gt_host_do_check,
};
