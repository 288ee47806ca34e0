/* Nothing is left of an engine, nor of its links and its place in a job. */
#include "unit/job.h"
#include "unit/ring_plan.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "exec/engine.h"
#include "world/world.h"

enum {
	/* Caches of the C library are full after so many rounds. */
	WARM_ROUNDS = 30,
	ROUNDS = 60,
	LEAST_HEAP_BYTES = 32, /* what the smallest allocation takes */
};

static const int64_t limit_ns = 60000000000;
static const char *link_name, *trace;

/* What a process has; all of it in units that a leak takes one of at least. */
struct held {
	size_t heap, maps, fds, threads;
};

static size_t entries_of(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static size_t lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t n = 0;
	int c;

	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		n += c == '\n';
	fclose(file);
	return n;
}

/* Other C libraries do not say it; sanitizers look on their own. */
static size_t heap_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

static struct held held_now(void)
{
	return (struct held){.heap = heap_bytes() / LEAST_HEAP_BYTES,
			     .maps = lines_of("/proc/self/maps"),
			     .fds = entries_of("/proc/self/fd"),
			     .threads = entries_of("/proc/self/task")};
}

/* Less than one in two rounds may be left over by chance. */
static int held_more(const char *what, size_t before, size_t after,
		     struct gt_err *err)
{
	if (after < before + ROUNDS / 2)
		return GT_OK;
	return gt_err_set(err, GT_ENO, NULL,
			  "%zu %s are left after %d engines over %s",
			  after - before, what, ROUNDS,
			  link_name ? link_name : "nothing");
}

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
	if (!rc)
		rc = held_more("allocations", before.heap, after.heap, err);
	if (!rc)
		rc = held_more("mappings", before.maps, after.maps, err);
	if (!rc)
		rc = held_more("descriptors", before.fds, after.fds, err);
	if (!rc)
		rc = held_more("threads", before.threads, after.threads, err);
	return rc;
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
	(void)state;
	link_name = "tcp";
	trace = "/dev/null";
	job_all_end(2, limit_ns, leaks_part, 0);
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
