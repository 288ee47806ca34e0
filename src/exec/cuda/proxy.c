/*
 * Threads that carry slices between pinned FIFOs and links, and rest when there
 * is nothing to carry.
 */
#include "exec/cuda/fifos.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "exec/cuda/device/state.h"

enum {
	/*
	 * A thread yields after so many rounds, as ranks may be more than
	 * processors.
	 */
	GT_PROXY_YIELDS = 16,
	/*
	 * On callers' streams a thread that has had nothing to carry for so
	 * long sleeps between its looks: for a part of that time, up to the
	 * most.
	 */
	GT_PROXY_IDLE_NS = 2000000,
	GT_PROXY_SLEEP_PART = 20,
	GT_PROXY_SLEEP_NS = 1000000,
};

/* A thread remembers this since it was last busy. */
struct gt_proxy_idle {
	uint32_t rounds, calls;
	int64_t since_ns; /* 0: it was busy */
};

/* Sleep, if nothing was there for long and nobody has called. */
static void gt_proxy_rest(struct gt_cuda_proxy *carry,
			  struct gt_proxy_idle *idle)
{
	uint32_t calls =
		atomic_load_explicit(&carry->calls, memory_order_relaxed);
	int64_t now = gt_clock_ns(), sleep_ns;
	struct timespec some = {0, 0};

	if (!idle->since_ns || calls != idle->calls)
		idle->since_ns = now;
	idle->calls = calls;
	if (now - idle->since_ns < GT_PROXY_IDLE_NS)
		return;
	sleep_ns = (now - idle->since_ns) / GT_PROXY_SLEEP_PART;
	some.tv_nsec = sleep_ns < GT_PROXY_SLEEP_NS ? (long)sleep_ns
						    : GT_PROXY_SLEEP_NS;
	nanosleep(&some, NULL);
}

static void *gt_proxy_main(void *arg)
{
	struct gt_cuda_proxy_thread *at = arg;
	struct gt_cuda_proxy *carry = &at->engine->proxy;
	int rests = gt_cuda_is_async(at->engine);
	struct gt_proxy_idle idle = {.rounds = 0};

	while (!atomic_load_explicit(&carry->stop, memory_order_relaxed)) {
		if (gt_process_group_carry(&at->engine->group, at->link)) {
			idle.since_ns = 0;
			idle.rounds = 0;
		} else if (++idle.rounds % GT_PROXY_YIELDS == 0) {
			sched_yield();
			if (rests)
				gt_proxy_rest(carry, &idle);
		}
	}
	return NULL;
}

int gt_cuda_proxy_start(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_cuda_proxy *carry = &engine->proxy;
	int rc = GT_OK;

	atomic_store(&carry->stop, 0);
	for (int i = 0; !rc && i < GT_PROCESS_GROUP_LINKS; i++) {
		struct gt_cuda_proxy_thread *at = &carry->threads[carry->n];

		if (!gt_process_group_carries(&engine->group, i))
			continue;
		if (!carry->n)
			gt_process_group_attend(&engine->group, 1);
		*at = (struct gt_cuda_proxy_thread){.engine = engine,
						    .link = i};
		rc = gt_thread_start(&at->thread, gt_proxy_main, at, err);
		if (rc && !carry->n)
			gt_process_group_attend(&engine->group, -1);
		carry->n += !rc;
	}
	return rc;
}

void gt_cuda_proxy_wake(struct gt_engine *engine)
{
	atomic_fetch_add_explicit(&engine->proxy.calls, 1,
				  memory_order_relaxed);
}

void gt_cuda_proxy_stop(struct gt_engine *engine)
{
	struct gt_cuda_proxy *carry = &engine->proxy;

	atomic_store(&carry->stop, 1);
	for (uint32_t i = 0; i < carry->n; i++)
		pthread_join(carry->threads[i].thread, NULL);
	if (carry->n)
		gt_process_group_attend(&engine->group, -1);
	carry->n = 0;
}
