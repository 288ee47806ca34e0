/*
 * The caller watches the rank threads while they do a job, and names the one
 * that stands still.
 */
#include "exec/host/host.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	GT_WATCH_TICK_NS = 20000000,
	/*
	 * The longest time that counts as one tick: when the whole process was
	 * stopped for longer, no rank is at fault.
	 */
	GT_WATCH_GAP_NS = 5 * GT_WATCH_TICK_NS,
	GT_WATCH_NEWS_LOOK_NS = 1000000,
};

static void gt_stall_counter_look(struct gt_stall_counter *watched,
				  uint64_t value, int64_t passed_ns)
{
	watched->still_ns += passed_ns;
	if (watched->value != value)
		watched->still_ns = 0;
	watched->value = value;
}

/* Fail because of a rank, and say where it stands. */
static int gt_watch_blame(const struct gt_engine *engine, uint32_t r,
			  const char *what, int64_t still_ns,
			  struct gt_err *err)
{
	const struct gt_plan *plan = engine->config.plan;
	const struct gt_plan_rank *named = &plan->ranks[r];
	uint64_t at = atomic_load_explicit(&engine->ranks[r].at,
					   memory_order_relaxed);
	uint32_t l = (uint32_t)(at >> 32), step = (uint32_t)at;
	double seconds = (double)still_ns / 1e9;
	const struct gt_host_lane *lane;

	if (engine->job != GT_HOST_RUN)
		return gt_err_set(err, GT_ESYS, NULL,
				  "rank %u (%s %s) %s for %.1f s", r,
				  named->node, named->device, what, seconds);
	lane = &engine->ranks[r].lanes[l];
	return gt_err_set(err, GT_ESYS, NULL,
			  "rank %u (%s %s) %s for %.1f s at channel %u step %u "
			  "(%s)",
			  r, named->node, named->device, what, seconds,
			  plan->channels[lane->program->channel].id, step,
			  gt_op_name(lane->program->steps[step].op));
}

/*
 * Find the rank that is at fault.  One that waits for another still polls or
 * sleeps; the one that all wait for does neither.  If nothing moves all the
 * same, they wait for each other.
 */
static int gt_watch_look(const struct gt_engine *engine, int64_t passed_ns,
			 struct gt_err *err)
{
	struct gt_stall_counter *watched = engine->watched;
	struct gt_stall_counter *whole = &watched[engine->nranks];
	int64_t limit_ns = engine->config.timeout_ns;
	/* The process whose own rank stands still is the first to say so. */
	int64_t own_ns = engine->group.world ? limit_ns / 4 * 3 : limit_ns;
	uint64_t moved = 0, beats, ndone = 0;
	uint32_t waiting = 0;

	for (uint32_t r = engine->first; r < engine->end; r++) {
		struct gt_host_rank *rank = &engine->ranks[r];

		if (atomic_load_explicit(&rank->done, memory_order_relaxed)) {
			ndone++;
			continue;
		}
		waiting = r;
		beats = atomic_load_explicit(&rank->beats,
					     memory_order_relaxed);
		moved += atomic_load_explicit(&rank->moved,
					      memory_order_relaxed);
		gt_stall_counter_look(&watched[r], beats, passed_ns);
		if (atomic_load(&rank->bell->asleep))
			watched[r].still_ns = 0;
		if (watched[r].still_ns >= own_ns)
			return gt_watch_blame(engine, r, "made no progress",
					      own_ns, err);
	}
	if (engine->job != GT_HOST_RUN)
		return GT_OK;
	gt_stall_counter_look(whole, moved + (ndone << 48), passed_ns);
	if (engine->group.world)
		gt_world_progress(engine->group.world,
				  (engine->job_number << 32) + whole->value);
	if (whole->still_ns >= limit_ns)
		return gt_watch_blame(engine, waiting, "waited", limit_ns, err);
	return GT_OK;
}

/* Wait until all are done or one tick has passed. */
static int gt_watch_tick(struct gt_engine *engine)
{
	struct timespec until =
		gt_clock_timespec(gt_clock_ns() + GT_WATCH_TICK_NS);

	while (engine->ndone < gt_host_nlocal(engine))
		if (pthread_cond_timedwait(&engine->done, &engine->mutex,
					   &until) == ETIMEDOUT)
			break;
	return engine->ndone == gt_host_nlocal(engine);
}

/*
 * Check the other processes.  One that is gone is the reason for what broke:
 * its death may show on links before the others are told.
 */
static int gt_watch_group(struct gt_engine *engine, struct gt_err *err)
{
	struct timespec nap = {0, GT_WATCH_NEWS_LOOK_NS};
	struct gt_world *world = engine->group.world;
	struct gt_err own;
	int64_t until_ns;
	int rc;

	gt_err_init(&own);
	rc = gt_process_group_check(&engine->group, &own);
	if (!rc)
		return GT_OK;
	until_ns = gt_clock_ns() + gt_world_grace_ns(world);
	while (!gt_world_failed(world, err) && gt_clock_ns() < until_ns)
		nanosleep(&nap, NULL);
	return gt_err_set(err, rc, NULL, "%s", own.text);
}

int gt_host_watch(struct gt_engine *engine, struct gt_err *err)
{
	const _Atomic int *interrupt = engine->config.interrupt;
	int64_t now, last = gt_clock_ns(), passed;
	int rc = GT_OK;

	pthread_mutex_lock(&engine->mutex);
	while (!rc && !gt_watch_tick(engine)) {
		now = gt_clock_ns();
		passed = now - last;
		if (passed > GT_WATCH_GAP_NS)
			passed = GT_WATCH_GAP_NS;
		last = now;
		rc = gt_watch_look(engine, passed, err);
		if (!rc)
			rc = gt_watch_group(engine, err);
		if (!rc && interrupt && *interrupt)
			rc = gt_err_set(err, GT_ESYS, NULL, "interrupted");
	}
	pthread_mutex_unlock(&engine->mutex);
	if (rc)
		gt_host_abort(engine);
	return rc;
}
