/* What an engine says of a connection that breaks under a job. */
#include "unit/job.h"
#include "unit/ring_plan.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/engine.h"
#include "world/world.h"

enum {
	/* So long after its connections a process says why. */
	TEST_NEWS_US = 60000,
};

static const int64_t test_limit_ns = 64000000000;
static const char test_reason[] = "somebody pulled the plug";
static int test_tells; /* whoever closed its connections says why */

/*
 * A run of an all-reduce of two processes that never ends, as rank 1 stands
 * still; process 1 gives up at once.
 */
static int watch_run(struct gt_world *world, struct gt_engine **engine,
		     struct gt_err *err)
{
	static const _Atomic int interrupt = 1;
	uint64_t seed = 1;
	struct gt_engine_config config = {.plan = test_ring_plan(2, 1, &seed),
					  .max_bytes = 4000,
					  .world = world,
					  .link = "tcp",
					  .iface = "lo",
					  .timeout_ns = test_limit_ns,
					  .fault = GT_FAULT_STALL,
					  .fault_rank = 1};
	const struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
					    .dtype = GT_DTYPE_FLOAT,
					    .count = 1000};
	int64_t elapsed_ns;
	int rc;

	if (gt_world_rank(world))
		config.interrupt = &interrupt;
	rc = gt_engine_host.open(&config, engine, err);
	return rc ? rc : gt_engine_host.run(*engine, &req, 1, &elapsed_ns, err);
}

/* Close the connections of the job, and not yet those of the world. */
static int watch_quit(struct gt_world *world)
{
	struct gt_engine *engine = NULL;
	struct gt_err err;

	gt_err_init(&err);
	if (!watch_run(world, &engine, &err))
		return GT_ENO;
	gt_engine_host.close(engine);
	if (test_tells) {
		usleep(TEST_NEWS_US);
		gt_world_abort(world, test_reason);
	}
	/* Nobody hears more of this process before the other one has ended. */
	job_gate(job_now);
	return GT_OK;
}

/* What is told is the reason, where there is one, and not what it broke. */
static int watch_notice(struct gt_world *world, struct gt_err *err)
{
	const char *wanted = test_tells ? test_reason : "the connection to ";
	int64_t grace_ns = gt_world_grace_ns(world), took_ns = gt_clock_ns();
	struct gt_engine *engine = NULL;
	struct gt_err said;

	gt_err_init(&said);
	watch_run(world, &engine, &said);
	took_ns = gt_clock_ns() - took_ns;
	gt_engine_host.close(engine);
	job_gate(job_now);
	if (!strstr(said.text, wanted))
		return gt_err_set(err, GT_ENO, NULL, "it says '%s', not '%s'",
				  said.text, wanted);
	if ((!test_tells && took_ns < grace_ns) || took_ns > test_limit_ns / 2)
		return gt_err_set(err, GT_ENO, NULL, "it took %.1f s",
				  (double)took_ns / 1e9);
	return GT_OK;
}

static int watch_part(struct gt_world *world, struct gt_err *err)
{
	return gt_world_rank(world) ? watch_quit(world)
				    : watch_notice(world, err);
}

static void test_why_it_broke(void **state)
{
	(void)state;
	test_tells = 1;
	job_all_end(2, test_limit_ns, watch_part, 0);
}

static void test_broke_without_a_word(void **state)
{
	(void)state;
	test_tells = 0;
	job_all_end(2, test_limit_ns, watch_part, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_why_it_broke),
		cmocka_unit_test(test_broke_without_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
