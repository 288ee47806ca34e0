/*
 * A rank's thread: it waits for jobs, and in a run moves all its lanes in turn,
 * sleeping when none can move.
 */
#include "exec/host/host.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/must.h"

enum {
	GT_HOST_STACK_BYTES = 512 << 10,
	/* A rank that sleeps looks around so often. */
	GT_HOST_NAP_NS = 20000000,
	/* After a yield that took longer another thread has run. */
	GT_HOST_SWITCH_NS = 2000,
	GT_HOST_MOVE_NS = 10000000,
};

/*
 * Move to another processor if a yield has let somebody else run, who may be
 * whom this rank waits for.  The scheduler would part the two at its next tick,
 * some ms later; as each has a processor of its own to go to, they need not
 * wait for it.
 */
static void gt_rank_yield(struct gt_host_rank *rank)
{
	const struct gt_process_group *group = &rank->engine->group;
	int64_t begin_ns = gt_clock_ns(), now_ns;

	sched_yield();
	now_ns = gt_clock_ns();
	if (now_ns - begin_ns < GT_HOST_SWITCH_NS ||
	    now_ns - rank->visit_ns < GT_HOST_MOVE_NS)
		return;
	if (gt_cpus_visit(group->place + rank->rank - group->first))
		rank->visit_ns = now_ns;
}

/*
 * Wait, as no lane can move: stay on the processor while the others surely have
 * ones of their own, else make room for them.  The rank that is waited for may
 * be behind this one on the same processor all the same, so the thread asks now
 * and then who else is there.
 */
static void gt_rank_idle(struct gt_host_rank *rank, uint32_t polls,
			 uint32_t seen)
{
	if (polls < rank->engine->spins) {
		gt_process_group_progress(&rank->engine->group);
		if (polls % rank->engine->yields == 0)
			gt_rank_yield(rank);
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
		return;
	}
	if (rank->engine->spins)
		gt_process_group_attend(&rank->engine->group, -1);
	gt_bell_wait(rank->bell, seen, GT_HOST_NAP_NS);
	if (rank->engine->spins)
		gt_process_group_attend(&rank->engine->group, 1);
}

/* Wait for all ranks to start together; the last one to come takes the time. */
static void gt_rank_meet(struct gt_host_rank *rank)
{
	struct gt_engine *engine = rank->engine;
	uint32_t seen, polls = 0, arrived;

	arrived = atomic_fetch_add(&engine->arrived, 1) + 1;
	/* Who comes twice would start the others before all are there. */
	GT_MUST(arrived <= gt_host_nlocal(engine));
	if (arrived == gt_host_nlocal(engine)) {
		atomic_store(&engine->start_ns, gt_clock_ns());
		gt_host_ring_all(engine);
	}
	while (!gt_host_aborted(engine)) {
		seen = gt_bell_look(rank->bell);
		if (atomic_load(&engine->start_ns))
			break;
		gt_host_beat(rank);
		gt_rank_idle(rank, polls++, seen);
	}
}

/* Has the rank come to where it has to fail on purpose? */
static int gt_rank_is_faulty(const struct gt_host_rank *rank, uint64_t moved)
{
	const struct gt_engine_config *config = &rank->engine->config;

	return config->fault != GT_FAULT_NONE &&
	       config->fault_rank == rank->rank && config->fault_step == moved;
}

/*
 * May the lane begin its next iteration?  Programs of one channel and worker
 * share memory, so all of them have to have ended the last one.
 */
static int gt_rank_may_begin(const struct gt_host_rank *rank, uint32_t l)
{
	const struct gt_host_lane *lane = &rank->lanes[l];
	uint32_t n = rank->engine->nprograms, first = l - l % n;

	if (n == 1 || lane->loop || lane->step)
		return 1;
	for (uint32_t p = first; p < first + n; p++)
		if (rank->lanes[p].iter < lane->iter)
			return 0;
	return 1;
}

/*
 * Do one step of every lane that can move, and return how many are not
 * finished.
 */
static uint32_t gt_rank_poll(struct gt_host_rank *rank, uint64_t *moved)
{
	struct gt_engine *engine = rank->engine;
	uint32_t open = 0;

	for (uint32_t l = 0; l < engine->nlanes; l++) {
		struct gt_host_lane *lane = &rank->lanes[l];

		if (lane->iter >= engine->iters)
			continue;
		open++;
		if (!gt_rank_may_begin(rank, l))
			continue;
		atomic_store_explicit(&rank->at, (uint64_t)l << 32 | lane->step,
				      memory_order_relaxed);
		if (gt_rank_is_faulty(rank, *moved))
			break;
		*moved += (uint64_t)gt_host_step(rank, lane);
	}
	return open;
}

static void gt_rank_play_dead(void)
{
	struct timespec nap = {0, 1000000};

	nanosleep(&nap, NULL);
}

/*
 * Run the rank's lanes to their end; 0 when its thread has to end without a
 * word.
 */
static int gt_rank_run(struct gt_host_rank *rank)
{
	struct gt_engine *engine = rank->engine;
	uint64_t moved = 0, before;
	uint32_t polls = 0, open = 1, seen;

	if (engine->spins)
		gt_process_group_attend(&engine->group, 1);
	gt_rank_meet(rank);
	while (open && !gt_host_aborted(engine)) {
		before = moved;
		seen = gt_bell_look(rank->bell);
		gt_host_beat(rank);
		open = gt_rank_poll(rank, &moved);
		if (open && gt_rank_is_faulty(rank, moved))
			break;
		atomic_store_explicit(&rank->moved, moved,
				      memory_order_relaxed);
		polls = moved == before ? polls + 1 : 0;
		if (polls && open)
			gt_rank_idle(rank, polls, seen);
	}
	rank->end_ns = gt_clock_ns();
	if (engine->spins)
		gt_process_group_attend(&engine->group, -1);
	if (open && engine->config.fault == GT_FAULT_EXIT &&
	    gt_rank_is_faulty(rank, moved))
		return 0;
	while (open && !gt_host_aborted(engine))
		gt_rank_play_dead();
	return 1;
}

static int gt_rank_do(struct gt_host_rank *rank)
{
	switch (rank->engine->job) {
	case GT_HOST_FILL:
		gt_host_fill(rank);
		return 1;
	case GT_HOST_CHECK:
		gt_host_check(rank);
		return 1;
	case GT_HOST_RUN:
		break;
	}
	return gt_rank_run(rank);
}

/* Wait for a job newer than `last`; 0 when there will be none. */
static uint64_t gt_rank_next_job(struct gt_engine *engine, uint64_t last)
{
	uint64_t number;

	pthread_mutex_lock(&engine->mutex);
	while (engine->job_number == last && !engine->quit)
		pthread_cond_wait(&engine->go, &engine->mutex);
	number = engine->quit ? 0 : engine->job_number;
	pthread_mutex_unlock(&engine->mutex);
	return number;
}

static void gt_rank_finish(struct gt_host_rank *rank)
{
	struct gt_engine *engine = rank->engine;

	pthread_mutex_lock(&engine->mutex);
	atomic_store_explicit(&rank->done, 1, memory_order_relaxed);
	if (++engine->ndone == gt_host_nlocal(engine))
		pthread_cond_signal(&engine->done);
	pthread_mutex_unlock(&engine->mutex);
}

static void *gt_rank_main(void *arg)
{
	struct gt_host_rank *rank = arg;
	uint64_t job = 0;

	while ((job = gt_rank_next_job(rank->engine, job))) {
		if (!gt_rank_do(rank))
			break;
		gt_rank_finish(rank);
	}
	return NULL;
}

/* Rank threads take no signals, which are the caller's business. */
int gt_host_threads_start(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_host_rank *rank;
	sigset_t all, old;
	pthread_attr_t attr;
	int rc = 0;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, GT_HOST_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uint32_t r = engine->first; !rc && r < engine->end; r++) {
		rank = &engine->ranks[r];
		rc = pthread_create(&rank->thread, &attr, gt_rank_main, rank);
		rank->has_thread = !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot start %u rank threads: %s",
				  gt_host_nlocal(engine), strerror(rc));
	return GT_OK;
}

void gt_host_threads_join(struct gt_engine *engine)
{
	gt_host_abort(engine);
	pthread_mutex_lock(&engine->mutex);
	engine->quit = 1;
	pthread_cond_broadcast(&engine->go);
	pthread_mutex_unlock(&engine->mutex);
	for (uint32_t r = engine->first; r < engine->end; r++)
		if (engine->ranks[r].has_thread)
			pthread_join(engine->ranks[r].thread, NULL);
}
