/* Nothing is left of an engine, nor of its links and its place in a job. */
#include "unit/held.h"
#include "unit/job.h"
#include "unit/ring_plan.h"

#include "base/err.h"
#include "exec/engine.h"
#include "world/world.h"

enum {
	/* Caches of the C library are full after so many rounds. */
	WARM_ROUNDS = 30,
	ROUNDS = 60,
};

static const int64_t limit_ns = 60000000000;
static const char *link_name, *trace;

/* An engine that runs a little and is closed; its plan stays. */
static int round_of(const struct gt_engine_config *config, struct gt_err *err)
{
	const struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
					    .dtype = GT_DTYPE_FLOAT,
					    .count = 1000};
	struct gt_engine *engine = NULL;
	int64_t elapsed_ns;
	uint64_t wrong;
	int rc = gt_engine_host.open(config, &engine, err);

	if (!rc)
		rc = gt_engine_host.fill(engine, &req, err);
	if (!rc)
		rc = gt_engine_host.run(engine, &req, 1, &elapsed_ns, err);
	if (!rc)
		rc = gt_engine_host.check(engine, &req, &wrong, err);
	gt_engine_host.close(engine);
	return rc;
}

static int leaks_part(struct gt_world *world, struct gt_err *err)
{
	uint64_t seed = 1;
	struct gt_plan *plan = test_ring_plan(4, 2, &seed);
	const struct gt_engine_config config = {.plan = plan,
						.max_bytes = 4000,
						.world = world,
						.link = link_name,
						.iface = "lo",
						.trace_links = trace,
						.timeout_ns = limit_ns};
	struct held before = {0}, after;
	int rc = GT_OK;

	for (int i = 0; !rc && i < WARM_ROUNDS + ROUNDS; i++) {
		if (i == WARM_ROUNDS)
			before = held_now();
		rc = round_of(&config, err);
	}
	after = held_now();
	gt_plan_free(plan);
	return rc ? rc : held_more(&before, &after, ROUNDS, err);
}

static void test_one_process(void **state)
{
	struct gt_err err;

	(void)state;
	link_name = NULL;
	gt_err_init(&err);
	if (leaks_part(NULL, &err))
		fail_msg("%s", err.text);
}

static void test_shared_memory(void **state)
{
	(void)state;
	link_name = "shm";
	job_all_end(2, limit_ns, leaks_part, 0);
}

static void test_sockets(void **state)
{
	(void)state;
	link_name = "tcp";
	job_all_end(2, limit_ns, leaks_part, 0);
}

/* As nothing is carried, values are wrong. */
static void test_no_link(void **state)
{
	(void)state;
	link_name = "null";
	job_all_end(2, limit_ns, leaks_part, 0);
}

static void test_traced_sockets(void **state)
{
	char folder[] = "/tmp/test_leaks.XXXXXX", path[64], each[80];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	link_name = "tcp";
	trace = path;
	job_all_end(2, limit_ns, leaks_part, 0);
	trace = NULL;
	for (int p = 0; p < 2; p++) {
		snprintf(each, sizeof(each), "%s.%d", path, p);
		assert_int_equal(unlink(each), 0);
	}
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_no_link),
		cmocka_unit_test(test_traced_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
