/*
 * Whether plan and engine do an operation on GPUs is asked for once, for all
 * that are like it and follow.  The engine is SIMULATED.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "lib/state.h"

#define gt_operation_verify fake_verify

static int fake_verify(struct gtopo_comm *comm,
		       const struct gt_exec_request *req, struct gt_err *err);

#include "lib/launch.c"

static struct gt_plan plan = {.nranks = 1};
static char memory[4096];
static int nasked, nverified, nenqueued, refuses;

static int fake_verify(struct gtopo_comm *comm,
		       const struct gt_exec_request *req, struct gt_err *err)
{
	(void)comm;
	(void)req;
	(void)err;
	nverified++;
	return GT_OK;
}

static int fake_choice(struct gt_engine *engine,
		       const struct gt_exec_request *req,
		       struct gt_algo_choice *choice, struct gt_err *err)
{
	(void)engine;
	(void)req;
	nasked++;
	*choice = (struct gt_algo_choice){.protocol = GT_PROTOCOL_SIMPLE};
	return refuses ? gt_err_set(err, GT_EINPUT, NULL, "refused") : GT_OK;
}

static int fake_enqueue(struct gt_engine *engine,
			const struct gt_exec_request *reqs, uint32_t n,
			struct gt_err *err)
{
	(void)engine;
	(void)reqs;
	(void)err;
	nenqueued += (int)n;
	return GT_OK;
}

static const struct gt_async_ops async = {.enqueue = fake_enqueue};
static const struct gt_engine_ops engine = {.algo_choice = fake_choice,
					    .async = &async};

/* Calls it; how often the engine was asked for it, or -1: it was refused. */
static int asks(struct gtopo_comm *comm, struct gt_exec_request req,
		const char *out)
{
	struct gt_buffers buffers = {memory, (char *)out};
	struct gt_err err;
	int before = nasked, refused = 0, rc;

	req.buffers = &buffers;
	comm->reqs = &req;
	gt_err_init(&err);
	rc = gt_launch_enqueue(comm, 1, &refused, &err);
	assert_int_equal(rc != 0, refused);
	assert_int_equal(nverified > 0, 1);
	return rc ? -1 : nasked - before;
}

static void test_asked_once(void **state)
{
	struct gtopo_comm comm = {
		.plan = &plan, .ops = &engine, .nranks = 1, .end = 1};
	struct gt_exec_request req = {.coll = GT_COLL_BROADCAST,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = 100};
	const char *apart = memory + sizeof(memory) / 2;

	(void)state;
	assert_int_equal(asks(&comm, req, apart), 1);
	assert_int_equal(asks(&comm, req, apart), 0);
	/* In place, and another count, root, type: each is another one. */
	assert_int_equal(asks(&comm, req, memory), 1);
	assert_int_equal(asks(&comm, req, apart), 1);
	req.count++;
	assert_int_equal(asks(&comm, req, apart), 1);
	req.root++;
	assert_int_equal(asks(&comm, req, apart), 1);
	req.dtype = GT_DTYPE_INT32;
	assert_int_equal(asks(&comm, req, apart), 1);
	assert_int_equal(asks(&comm, req, apart), 0);
	assert_int_equal(nverified, nasked);
	/* What was refused is asked for again, and what was taken before. */
	refuses = 1;
	req.count++;
	assert_int_equal(asks(&comm, req, apart), -1);
	assert_int_equal(asks(&comm, req, apart), -1);
	refuses = 0;
	assert_int_equal(asks(&comm, req, apart), 1);
	assert_int_equal(asks(&comm, req, apart), 0);
	assert_int_equal(nenqueued, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
