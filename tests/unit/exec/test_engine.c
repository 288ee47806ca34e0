#include "unit/ring_plan.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/engine.h"
#include "exec/host/host.h"

enum {
	TEST_SECOND_NS = 1000000000,
	/* More than what a busy machine keeps a rank waiting. */
	TEST_LIMIT_NS = 1500000000,
};

struct bench {
	struct gt_plan *plan;
	struct gt_engine_config config;
	struct gt_engine *engine;
	struct gt_err err;
};

/* An engine for the plan; cases change bench->config before. */
static void bench_open(struct bench *bench)
{
	bench->config.plan = bench->plan;
	if (!bench->config.timeout_ns)
		bench->config.timeout_ns = 60ll * TEST_SECOND_NS;
	gt_err_init(&bench->err);
	if (gt_engine_host.open(&bench->config, &bench->engine, &bench->err))
		fail_msg("%s", bench->err.text);
}

static void bench_close(struct bench *bench)
{
	gt_engine_host.close(bench->engine);
	gt_plan_free(bench->plan);
}

/* Fill, run, check: how many elements are wrong. */
static uint64_t bench_run(struct bench *bench,
			  const struct gt_exec_request *req)
{
	const struct gt_engine_ops *ops = &gt_engine_host;
	int64_t elapsed_ns = -1;
	uint64_t wrong = 0;

	if (ops->fill(bench->engine, req, &bench->err) ||
	    ops->run(bench->engine, req, 1, &elapsed_ns, &bench->err) ||
	    ops->check(bench->engine, req, &wrong, &bench->err))
		fail_msg("%s", bench->err.text);
	assert_true(elapsed_ns >= 0);
	return wrong;
}

static void test_find(void **state)
{
	(void)state;
	assert_ptr_equal(gt_engine_find("host"), &gt_engine_host);
	assert_non_null(gt_engine_find(NULL));
	assert_null(gt_engine_find("abacus"));
}

/* Every collective, type and operator, in place and out of place. */
static void test_matrix(void **state)
{
	static const uint64_t counts[] = {0, 1, 3, 16, 257, 5000};
	uint64_t seed = 1;
	struct bench bench = {.config = {.max_bytes = 5 * 5000 * 8}};
	struct gt_exec_request req = {.seed = 11};

	(void)state;
	bench.plan = test_ring_plan(5, 2, &seed);
	bench.config.slice_bytes = 1024;
	bench_open(&bench);
	for (int coll = 0; coll <= GT_COLL_REDUCE; coll++)
		for (int t = 0; t < GT_NDTYPES; t++)
			for (int op = 0; op < GT_NREDOPS; op++)
				for (int k = 0; k < 12; k++) {
					req.coll = coll;
					req.dtype = t;
					req.op = op;
					req.count = counts[k / 2];
					req.inplace = k % 2;
					assert_int_equal(
						bench_run(&bench, &req), 0);
				}
	bench_close(&bench);
}

static void random_request(struct gt_exec_request *req, uint32_t n,
			   uint64_t *seed)
{
	*req = (struct gt_exec_request){.count = 0};
	req->coll = draw(seed, GT_COLL_REDUCE + 1);
	req->root = draw(seed, n);
	req->dtype = draw(seed, GT_NDTYPES);
	req->op = draw(seed, GT_NREDOPS);
	req->inplace = (int)draw(seed, 2);
	req->shift = draw(seed, 16);
	req->seed = draw(seed, 1000);
	req->count = draw(seed, 1u << (1 + draw(seed, 15)));
	if (gt_coll_has_blocks(req->coll))
		req->count = (req->count + n - 1) / n;
}

/* Whatever the plan, the FIFOs and the slices: the result is right. */
static void test_random_plans(void **state)
{
	struct gt_exec_request req;

	(void)state;
	for (uint64_t trial = 0; trial < 60; trial++) {
		uint64_t seed = trial;
		uint32_t n = 1 + draw(&seed, 16);
		struct bench bench = {.config = {.max_bytes = 1 << 20}};

		bench.plan = test_ring_plan(n, 1 + draw(&seed, 4), &seed);
		bench.config.workers = draw(&seed, 4);
		bench.config.slots = 2 + draw(&seed, 7);
		bench.config.slice_bytes = 8 + draw(&seed, 5000);
		bench_open(&bench);
		for (int i = 0; i < 12; i++) {
			random_request(&req, n, &seed);
			if (bench_run(&bench, &req))
				fail_msg("trial %d, request %d is wrong",
					 (int)trial, i);
		}
		bench_close(&bench);
	}
}

/* Nothing is left in the way of the next: five times, then once more. */
static void run_shape(struct bench *bench, const struct gt_exec_request *req)
{
	int64_t elapsed_ns;

	if (gt_engine_host.run(bench->engine, req, 5, &elapsed_ns, &bench->err))
		fail_msg("%s", bench->err.text);
	if (bench_run(bench, req))
		fail_msg("%s by algo %d of %u ranks is wrong",
			 gt_coll_name(req->coll), bench->plan->select->algo,
			 bench->plan->nranks);
}

static void try_shape(enum gt_algo algo, enum gt_coll coll, uint64_t *seed)
{
	uint32_t n = 1 + draw(seed, 9);
	struct bench bench = {.config = {.max_bytes = 1 << 20}};
	struct gt_exec_request req;

	bench.plan = test_shape_plan(n, algo, coll, seed);
	bench.config.workers = 1 + draw(seed, 3);
	bench.config.slots = 2 + draw(seed, 3);
	bench.config.slice_bytes = 8 + draw(seed, 5000);
	bench_open(&bench);
	for (int i = 0; i < 3; i++) {
		random_request(&req, n, seed);
		req.coll = coll;
		req.root = bench.plan->root;
		if (gt_coll_has_blocks(coll))
			req.count /= n;
		run_shape(&bench, &req);
	}
	bench_close(&bench);
}

/* Trees, meshes and flows, for all that they can do but gathering by blocks. */
static void test_shapes(void **state)
{
	uint64_t seed = 77;

	(void)state;
	for (int trial = 0; trial < 4; trial++)
		for (int algo = GT_ALGO_TREE; algo <= GT_ALGO_FLOW; algo++)
			for (int coll = 0; coll < GT_NCOLLS; coll++) {
				if (!gt_algo_supports((enum gt_algo)algo,
						      (enum gt_coll)coll) ||
				    (algo == GT_ALGO_TREE &&
				     gt_coll_has_blocks((enum gt_coll)coll)))
					continue;
				try_shape((enum gt_algo)algo,
					  (enum gt_coll)coll, &seed);
			}
}

/* Several iterations without a stop between them, more than FIFOs hold. */
static void test_iterations(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 4096};
	struct bench bench = {.config = {.max_bytes = 4096 * 4}};
	uint64_t seed = 3, wrong = 1;
	int64_t elapsed_ns;

	(void)state;
	bench.plan = test_ring_plan(6, 3, &seed);
	bench.config.slots = 2;
	bench.config.slice_bytes = 100;
	bench_open(&bench);
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, NULL), 0);
	assert_int_equal(
		gt_engine_host.run(bench.engine, &req, 7, &elapsed_ns, NULL),
		0);
	assert_true(elapsed_ns > 0);
	assert_int_equal(gt_engine_host.check(bench.engine, &req, &wrong, NULL),
			 0);
	assert_int_equal(wrong, 0);
	bench_close(&bench);
}

/* A check that finds nothing proves something only if it can find. */
static void test_check_finds(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLGATHER,
				      .dtype = GT_DTYPE_INT32,
				      .count = 1000,
				      .seed = 1};
	struct bench bench = {.config = {.max_bytes = 4 * 1000 * 4}};
	uint64_t seed = 3, wrong = 0;

	(void)state;
	bench.plan = test_ring_plan(4, 1, &seed);
	bench_open(&bench);
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, NULL), 0);
	gt_engine_host.check(bench.engine, &req, &wrong, NULL);
	assert_int_equal(wrong, 4 * 4000);
	assert_int_equal(bench_run(&bench, &req), 0);
	req.seed = 2;
	gt_engine_host.check(bench.engine, &req, &wrong, NULL);
	assert_true(wrong > 4 * 3900);
	bench_close(&bench);
}

static void test_too_large(void **state)
{
	struct gt_exec_request req = {.count = 1000, .dtype = GT_DTYPE_DOUBLE};
	struct bench bench = {.config = {.max_bytes = 7999}};
	struct gt_engine *engine = NULL;
	uint64_t seed = 3;

	(void)state;
	bench.plan = test_ring_plan(2, 1, &seed);
	bench_open(&bench);
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, &bench.err),
			 GT_EINPUT);
	gt_err_init(&bench.err);
	req.count = UINT64_MAX / 4;
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, &bench.err),
			 GT_EINPUT);
	gt_err_init(&bench.err);
	bench.config.max_bytes = 1ull << 60;
	assert_int_equal(
		gt_engine_host.open(&bench.config, &engine, &bench.err),
		GT_ESYS);
	assert_null(engine);
	assert_non_null(strstr(bench.err.text, "GiB are available"));
	bench_close(&bench);
}

/* What is refused is in nobody's way: not in the next run's, nor at the end. */
static void test_no_such_root(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_BROADCAST,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 1000};
	struct bench bench = {.config = {.max_bytes = 4000}};
	uint64_t seed = 3;
	int64_t elapsed_ns;

	(void)state;
	bench.plan = test_ring_plan(3, 1, &seed);
	bench_open(&bench);
	for (int again = 0; again < 2; again++) {
		req.root = 0;
		assert_int_equal(bench_run(&bench, &req), 0);
		req.root = 3;
		assert_int_equal(gt_engine_host.run(bench.engine, &req, 1,
						    &elapsed_ns, &bench.err),
				 GT_EINPUT);
		assert_string_equal(bench.err.text, "there is no rank '3'");
		gt_err_init(&bench.err);
	}
	bench_close(&bench);
}

/*
 * Many FIFOs with many slots each get smaller slices than the plan has, down to
 * a least one; and who asks for a size gets it.
 */
static void test_small_slices_for_many(void **state)
{
	static const struct {
		uint32_t slots, asked, slice_bytes;
	} cases[] = {{16, 0, 128 << 10}, {32, 0, 128 << 10},
		     {33, 0, 64 << 10},  {500, 0, 8 << 10},
		     {2000, 0, 4 << 10}, {1000, 1024, 1024}};
	const struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
					    .dtype = GT_DTYPE_INT32,
					    .count = 40000};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench bench = {
			.config = {.max_bytes = 160000,
				   .slots = cases[i].slots,
				   .slice_bytes = cases[i].asked}};
		uint64_t seed = 1;

		/* 64 FIFOs: of 32 slots with 128 KiB each they take 256 MiB. */
		bench.plan = test_ring_plan(16, 4, &seed);
		bench.config.workers = 1;
		bench_open(&bench);
		assert_int_equal(bench_run(&bench, &req), 0);
		assert_int_equal(bench.engine->slice_bytes,
				 cases[i].slice_bytes);
		bench_close(&bench);
	}
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/*
 * No more than there were: one that is joined is listed until the kernel has
 * ended it.
 */
static void assert_no_more_threads(int before)
{
	int64_t until_ns = gt_clock_ns() + 20ll * TEST_SECOND_NS;

	while (count_threads() > before && gt_clock_ns() < until_ns)
		usleep(1000);
	assert_true(count_threads() <= before);
}

/* A rank that fails after `step` slices is named, in time. */
static void check_fault(enum gt_fault fault, uint32_t rank, uint64_t step)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 100000};
	struct bench bench = {.config = {.max_bytes = 400000}};
	uint64_t seed = step + 1;
	int64_t elapsed_ns = -1, start_ns;
	int threads = count_threads();
	char name[64];

	bench.plan = test_ring_plan(4, 2, &seed);
	bench.config.timeout_ns = TEST_LIMIT_NS;
	bench.config.slice_bytes = 4096;
	bench.config.fault = fault;
	bench.config.fault_rank = rank;
	bench.config.fault_step = step;
	bench_open(&bench);
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, NULL), 0);
	start_ns = gt_clock_ns();
	assert_int_equal(gt_engine_host.run(bench.engine, &req, 3, &elapsed_ns,
					    &bench.err),
			 GT_ESYS);
	assert_true(gt_clock_ns() - start_ns < 20ll * TEST_SECOND_NS);
	assert_true(elapsed_ns == -1);
	snprintf(name, sizeof(name),
		 "rank %u (n0 0000:%02x:00.0) made no progress for ", rank,
		 0x18 + rank);
	if (strncmp(bench.err.text, name, strlen(name)) ||
	    !strstr(bench.err.text, " s at channel "))
		fail_msg("'%s' does not name %s", bench.err.text, name);
	gt_err_init(&bench.err);
	assert_int_equal(gt_engine_host.fill(bench.engine, &req, &bench.err),
			 GT_ESYS);
	bench_close(&bench);
	assert_no_more_threads(threads);
}

static void test_faults(void **state)
{
	static const uint64_t steps[] = {0, 5, 400};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		check_fault(GT_FAULT_STALL, (uint32_t)i % 4, steps[i]);
		check_fault(GT_FAULT_EXIT, 3 - (uint32_t)i % 4, steps[i]);
	}
}

/*
 * With one slot every rank of a ring holds a slice that the next one cannot
 * take: gt_simulate() refuses that, and the engine would notice as well.
 */
static void test_deadlock(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 1000};
	struct bench bench = {.config = {.max_bytes = 4000}};
	uint64_t seed = 5;
	int64_t elapsed_ns;

	(void)state;
	bench.plan = test_ring_plan(4, 1, &seed);
	bench.config.slots = 1;
	bench.config.timeout_ns = TEST_LIMIT_NS;
	bench_open(&bench);
	assert_int_equal(gt_engine_host.run(bench.engine, &req, 1, &elapsed_ns,
					    &bench.err),
			 GT_ESYS);
	assert_ptr_equal(
		strstr(bench.err.text, "rank 3 (n0 0000:1b:00.0) waited for "),
		bench.err.text);
	assert_non_null(strstr(bench.err.text,
			       " s at channel 0 step 1 (recvReduceSend)"));
	bench_close(&bench);
}

/* Small messages take channel 1 alone: a rank that stops is there. */
static void test_select(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_REDUCESCATTER,
				      .dtype = GT_DTYPE_INT8,
				      .count = 1000};
	struct bench bench = {.config = {.max_bytes = 8000}};
	uint32_t one[] = {1}, both[] = {0, 1};
	struct gt_plan_select rows[] = {
		{.max_bytes = 4000, .nchannels = 1, .channels = one},
		{.max_bytes = UINT64_MAX, .nchannels = 2, .channels = both},
	};
	uint64_t seed = 9;
	int64_t elapsed_ns;

	(void)state;
	bench.plan = test_ring_plan(4, 2, &seed);
	bench.plan->select = rows;
	bench.plan->nselect = 2;
	bench_open(&bench);
	assert_int_equal(bench_run(&bench, &req), 0);
	req.count = 2000;
	assert_int_equal(bench_run(&bench, &req), 0);
	gt_engine_host.close(bench.engine);
	req.count = 1000;
	bench.config.fault = GT_FAULT_STALL;
	bench.config.timeout_ns = TEST_LIMIT_NS;
	bench_open(&bench);
	gt_engine_host.run(bench.engine, &req, 1, &elapsed_ns, &bench.err);
	assert_non_null(strstr(bench.err.text, " at channel 1 step 0 (send)"));
	bench_close(&bench);
}

static void test_interrupt(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 1000};
	struct bench bench = {.config = {.max_bytes = 4000}};
	_Atomic int interrupt = 1;
	uint64_t seed = 5;
	int64_t elapsed_ns;

	(void)state;
	bench.plan = test_ring_plan(4, 1, &seed);
	bench.config.fault = GT_FAULT_STALL;
	bench.config.interrupt = &interrupt;
	bench_open(&bench);
	assert_int_equal(gt_engine_host.run(bench.engine, &req, 1, &elapsed_ns,
					    &bench.err),
			 GT_ESYS);
	assert_string_equal(bench.err.text, "interrupted");
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_random_plans),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_iterations),
		cmocka_unit_test(test_check_finds),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_no_such_root),
		cmocka_unit_test(test_small_slices_for_many),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
