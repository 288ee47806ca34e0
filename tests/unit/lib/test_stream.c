/*
 * libgtopo with ranks on GPUs, as far as it goes without one: this program has
 * its own gt_engine_find(), whose engine notes what is put on the streams and
 * does it at once.
 */
#include "unit/test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/engine.h"
#include "gtopo.h"
#include "plan/ir/plan.h"

enum { RANKS = 2, COUNT = 5, GROUP = 9, THREAD_OPERATIONS = 200 };

/* What the engine is to do, and has seen. */
static struct fake {
	_Atomic int broken; /* watch() finds a failure */
	_Atomic int hangs;  /* what is on the streams does not end */
	_Atomic int refuses;
	_Atomic int enqueued;
	_Atomic int together; /* of the last call */
	_Atomic int open;
	_Atomic int lent, release_requested;
	int breaks; /* what is registered */
	int premuls;
	void *streams[RANKS]; /* of the last operation */
	int inplace;
} fake;

struct gt_engine {
	struct gt_engine_config config;
};

static int fake_usable(void)
{
	return 1;
}

static int fake_open(const struct gt_engine_config *config,
		     struct gt_engine **engine, struct gt_err *err)
{
	struct gt_engine *made = calloc(1, sizeof(*made));

	(void)err;
	made->config = *config;
	fake.open++;
	*engine = made;
	return GT_OK;
}

static void fake_close(struct gt_engine *engine)
{
	free(engine);
	fake.open--;
}

static int fake_choice(struct gt_engine *engine,
		       const struct gt_exec_request *req,
		       struct gt_algo_choice *way, struct gt_err *err)
{
	(void)engine;
	if (req->coll == GT_COLL_ALLTOALL)
		return gt_err_set(err, GT_EINPUT, NULL, "no alltoall here");
	*way = (struct gt_algo_choice){.protocol = GT_PROTOCOL_LL};
	return GT_OK;
}

/* An all-reduce of int64_t. */
static void fake_do(struct gt_engine *engine, const struct gt_exec_request *req)
{
	for (uint64_t i = 0; i < req->count; i++) {
		int64_t sum = 0;

		for (uint32_t r = 0; r < engine->config.plan->nranks; r++)
			sum += ((const int64_t *)req->buffers[r].input)[i];
		for (uint32_t r = 0; r < engine->config.plan->nranks; r++)
			((int64_t *)req->buffers[r].output)[i] = sum;
	}
	memcpy(fake.streams, req->streams, sizeof(fake.streams));
	fake.inplace = req->inplace;
	fake.enqueued++;
}

static int fake_enqueue(struct gt_engine *engine,
			const struct gt_exec_request *reqs, uint32_t n,
			struct gt_err *err)
{
	if (fake.refuses)
		return gt_err_set(err, GT_ESYS, NULL, "refused");
	for (uint32_t i = 0; i < n; i++)
		fake_do(engine, &reqs[i]);
	fake.together = (int)n;
	return GT_OK;
}

static int fake_watch(struct gt_engine *engine, struct gt_err *err)
{
	if (*engine->config.interrupt)
		return gt_err_set(err, GT_ESYS, NULL, "interrupted");
	return fake.broken
		       ? gt_err_set(err, GT_ESYS, NULL, "rank 1 (-) stopped")
		       : GT_OK;
}

static int fake_await(struct gt_engine *engine, uint32_t rank, void *stream,
		      int64_t until_ns, struct gt_err *err)
{
	(void)rank, (void)stream;
	while (fake.hangs) {
		int rc = fake_watch(engine, err);

		if (rc)
			return rc;
		if (until_ns >= 0 && gt_clock_ns() >= until_ns)
			return 1;
		sched_yield();
	}
	return GT_OK;
}

static int fake_device(const struct gt_engine *engine, uint32_t rank)
{
	(void)engine;
	return 10 + (int)rank;
}

/* Memory at odd addresses is another GPU's. */
static int fake_register(struct gt_engine *engine, uint32_t rank,
			 const void *buffer, uint64_t bytes, struct gt_err *err)
{
	(void)engine, (void)rank, (void)bytes;
	if ((uintptr_t)buffer % 2)
		return gt_err_set(err, GT_EINPUT, NULL, "not there");
	if (fake.breaks)
		return gt_err_set(err, GT_ESYS, NULL, "rank 2 has no memory");
	fake.lent++;
	return GT_OK;
}

/* The driver fails when it is asked about a scalar of 3. */
static int fake_owns(const struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err)
{
	(void)engine, (void)rank, (void)bytes;
	if (*(const float *)buffer == 3)
		return gt_err_set(err, GT_ESYS, NULL, "the driver is gone");
	return GT_OK;
}

static int fake_prepare_premul(struct gt_engine *engine, struct gt_err *err)
{
	(void)engine;
	if (fake.refuses)
		return gt_err_set(err, GT_ESYS, NULL, "no memory of GPU 10");
	fake.premuls++;
	return GT_OK;
}

static int fake_deregister(struct gt_engine *engine, uint32_t rank,
			   const void *buffer, struct gt_err *err)
{
	(void)engine, (void)rank, (void)buffer;
	if (fake.refuses)
		return gt_err_set(err, GT_ESYS, NULL, "it stays open");
	fake.lent--;
	return GT_OK;
}

static int fake_release_requested(const struct gt_engine *engine)
{
	(void)engine;
	return fake.release_requested;
}

static void fake_service_releases(struct gt_engine *engine)
{
	(void)engine;
	fake.release_requested = 0;
}

const struct gt_engine_ops *gt_engine_find(const char *name)
{
	static const struct gt_async_ops async = {
		.enqueue = fake_enqueue,
		.await = fake_await,
		.watch = fake_watch,
		.device = fake_device,
		.owns = fake_owns,
		.prepare_premul = fake_prepare_premul,
		.register_buffer = fake_register,
		.deregister_buffer = fake_deregister,
		.release_requested = fake_release_requested,
		.service_releases = fake_service_releases};
	static const struct gt_engine_ops ops = {.name = "cuda",
						 .usable = fake_usable,
						 .open = fake_open,
						 .close = fake_close,
						 .algo_choice = fake_choice,
						 .async = &async};

	assert_string_equal(name, "cuda");
	return &ops;
}

static struct gtopo_comm *make(int64_t timeout_ms)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], message[256] = "";
	struct gtopo_comm *comm = NULL;

	memset(&fake, 0, sizeof(fake));
	config.plan =
		gt_test_path(path, "tests/cases/plan/good/minimal/plan.json");
	config.device = GTOPO_CUDA;
	config.timeout_ms = timeout_ms;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message)))
		fail_msg("%s", message);
	assert_int_equal(gtopo_comm_ranks(comm), RANKS);
	return comm;
}

static void drop(struct gtopo_comm *comm)
{
	gtopo_comm_destroy(comm);
	assert_int_equal(fake.open, 0);
}

static int add(struct gtopo_comm *comm, int rank, const int64_t *in,
	       int64_t *out)
{
	return gtopo_allreduce(comm, rank, in, out, COUNT, GTOPO_INT64,
			       GTOPO_SUM);
}

/* One thread: what is in the group is on the streams when it ends. */
static void test_group(void **state)
{
	int64_t in[RANKS][COUNT] = {{1, 2, 3}, {10, 20, 30}};
	int64_t out[RANKS][COUNT];
	struct gtopo_comm *comm = make(30000);
	int one, two;

	(void)state;
	assert_int_equal(gtopo_comm_gpu(comm, 1), 11);
	assert_int_equal(gtopo_comm_gpu(comm, 2), -1);
	assert_int_equal(gtopo_group_start(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	assert_int_equal(gtopo_group_start(comm, 0), GTOPO_EINPUT);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(add(comm, r, in[r], out[r]), GTOPO_OK);
	assert_int_equal(gtopo_comm_stream(comm, 0, &one), GTOPO_OK);
	assert_int_equal(gtopo_comm_stream(comm, 1, &two), GTOPO_OK);
	assert_int_equal(fake.enqueued, 0);
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	assert_int_equal(fake.enqueued, 1);
	assert_ptr_equal(fake.streams[0], &one); /* of the group's end */
	assert_int_equal(fake.inplace, 0);
	assert_int_equal(gtopo_group_start(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(add(comm, r, out[r], out[r]), GTOPO_OK);
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	assert_ptr_equal(fake.streams[0], &one);
	assert_ptr_equal(fake.streams[1], &two);
	assert_int_equal(fake.inplace, 1);
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_EINPUT);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(out[r][2], 66);
	drop(comm);
}

/* Operations of a group come to the engine together, in the order of calls. */
static void test_groups(void **state)
{
	int64_t data[RANKS][GROUP][COUNT] = {{{0}}};
	struct gtopo_comm *comm = make(30000);

	(void)state;
	for (int n = 1; n <= GROUP; n++) {
		fake.enqueued = 0;
		gtopo_group_start(comm, GTOPO_ALL_RANKS);
		for (int r = 0; r < RANKS; r++)
			for (int i = 0; i < n; i++) {
				data[r][i][1] = 100 * r + i;
				assert_int_equal(
					add(comm, r, data[r][i], data[r][i]),
					GTOPO_OK);
			}
		assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS),
				 GTOPO_OK);
		assert_int_equal(fake.enqueued, n);
		assert_int_equal(fake.together, n);
		for (int r = 0; r < RANKS; r++)
			for (int i = 0; i < n; i++)
				assert_int_equal(data[r][i][1], 100 + 2 * i);
	}
	drop(comm);
}

struct worker {
	struct gtopo_comm *comm;
	pthread_t thread;
	int rank, rc, operations;
};

/* A call is on the stream when it returns: its result is there at once. */
static void *work(void *arg)
{
	struct worker *me = arg;
	int64_t in[COUNT], out[COUNT] = {0};

	for (int i = 0; i < me->operations && !me->rc; i++) {
		in[3] = i * (me->rank + 1);
		me->rc = add(me->comm, me->rank, in, out);
		if (!me->rc && out[3] != i * 3)
			me->rc = 1;
	}
	return NULL;
}

static void start(struct worker *worker, struct gtopo_comm *comm, int rank,
		  int operations)
{
	*worker = (struct worker){
		.comm = comm, .rank = rank, .operations = operations};
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker),
			 0);
}

/* What one rank has in a group all have in one. */
static void test_uneven(void **state)
{
	int64_t data[RANKS][2][COUNT] = {{{0}}};
	struct gtopo_comm *comm = make(30000);
	struct worker worker;
	char message[256];

	(void)state;
	start(&worker, comm, 1, 2);
	gtopo_group_start(comm, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(add(comm, 0, data[0][i], data[0][i]),
				 GTOPO_OK);
	assert_int_equal(gtopo_group_end(comm, 0), GTOPO_EINPUT);
	pthread_join(worker.thread, NULL);
	assert_int_equal(worker.rc, GTOPO_EINPUT);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_non_null(strstr(message, "operation 0: "));
	assert_non_null(strstr(message, "1 before its group's end'"));
	drop(comm);
}

static void *work_in_vain(void *arg)
{
	struct worker *me = arg;
	int64_t in[RANKS] = {0}, out[RANKS];

	me->rc = gtopo_alltoall(me->comm, me->rank, in, out, 1, GTOPO_INT64);
	return NULL;
}

/* What the engine cannot do is refused to every rank; the next call goes on. */
static void test_not_done(void **state)
{
	int64_t in[RANKS][COUNT] = {{0}}, out[RANKS][COUNT];
	struct gtopo_comm *comm = make(30000);
	struct worker worker = {.comm = comm, .rank = 1}, sum;
	char message[256];

	(void)state;
	assert_int_equal(
		pthread_create(&worker.thread, NULL, work_in_vain, &worker), 0);
	assert_int_equal(gtopo_alltoall(comm, 0, in[0], out[0], 1, GTOPO_INT64),
			 GTOPO_EINPUT);
	pthread_join(worker.thread, NULL);
	assert_int_equal(worker.rc, GTOPO_EINPUT);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_string_equal(message, "no alltoall here");
	assert_int_equal(fake.enqueued, 0);
	/* Of a group in which one cannot be done none is. */
	gtopo_group_start(comm, GTOPO_ALL_RANKS);
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(add(comm, r, in[r], out[r]), GTOPO_OK);
		assert_int_equal(
			gtopo_alltoall(comm, r, in[r], out[r], 1, GTOPO_INT64),
			GTOPO_OK);
	}
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_EINPUT);
	assert_int_equal(fake.enqueued, 0);
	assert_int_equal(gtopo_comm_state(comm), GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	start(&sum, comm, 1, 2);
	for (int i = 0; i < 2; i++) {
		in[0][3] = i;
		assert_int_equal(add(comm, 0, in[0], out[0]), GTOPO_OK);
		assert_int_equal(out[0][3], 3 * i);
	}
	pthread_join(sum.thread, NULL);
	assert_int_equal(sum.rc, GTOPO_OK);
	drop(comm);
}

static void test_threads(void **state)
{
	struct gtopo_comm *comm = make(30000);
	struct worker workers[RANKS];

	(void)state;
	for (int r = 0; r < RANKS; r++)
		start(&workers[r], comm, r, THREAD_OPERATIONS);
	for (int r = 0; r < RANKS; r++) {
		pthread_join(workers[r].thread, NULL);
		assert_int_equal(workers[r].rc, GTOPO_OK);
	}
	assert_int_equal(fake.enqueued, THREAD_OPERATIONS);
	drop(comm);
}

/* A rank that never calls is named; an abort is quicker. */
static void test_lonely(void **state)
{
	int64_t data[COUNT] = {0};
	struct gtopo_comm *comm = make(50);
	struct worker worker;
	char message[256];

	(void)state;
	assert_int_equal(add(comm, 0, data, data), GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_non_null(strstr(message, "rank 1 has not called operation 0 "
					"within 0.1 s of rank 0"));
	assert_int_equal(add(comm, 1, data, data), GTOPO_ESYSTEM);
	drop(comm);

	comm = make(30000);
	start(&worker, comm, 1, 1);
	gtopo_comm_abort(comm);
	pthread_join(worker.thread, NULL);
	assert_int_equal(worker.rc, GTOPO_EABORTED);
	drop(comm);
}

static int wait_failed(struct gtopo_comm *comm)
{
	int64_t end = gt_clock_ns() + 10000000000;
	int rc;

	while ((rc = gtopo_comm_state(comm)) == GTOPO_OK && gt_clock_ns() < end)
		sched_yield();
	return rc;
}

/* Failures of what is on the streams show without a call. */
static void test_watch(void **state)
{
	int64_t data[RANKS][COUNT] = {{0}};
	struct gtopo_comm *comm = make(30000);
	char message[256];

	(void)state;
	fake.broken = 1;
	assert_int_equal(wait_failed(comm), GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_string_equal(message, "rank 1 (-) stopped");
	assert_int_equal(add(comm, 0, data[0], data[0]), GTOPO_ESYSTEM);
	drop(comm);

	comm = make(30000);
	fake.refuses = 1;
	gtopo_group_start(comm, GTOPO_ALL_RANKS);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(add(comm, r, data[r], data[r]), GTOPO_OK);
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_ESYSTEM);
	drop(comm);
}

static void *abort_it(void *arg)
{
	gtopo_comm_abort(arg);
	return NULL;
}

static void test_wait(void **state)
{
	int64_t data[RANKS][COUNT] = {{0}};
	struct gtopo_comm *comm = make(30000);
	pthread_t thread;

	(void)state;
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	fake.hangs = 1;
	gtopo_group_start(comm, GTOPO_ALL_RANKS);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(add(comm, r, data[r], data[r]), GTOPO_OK);
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, 1, 20), GTOPO_IN_PROGRESS);
	assert_int_equal(pthread_create(&thread, NULL, abort_it, comm), 0);
	assert_int_equal(gtopo_wait(comm, 1, -1), GTOPO_EABORTED);
	pthread_join(thread, NULL);
	drop(comm);
}

/* The engine has what is registered, and gives back what others ask for. */
static void test_register(void **state)
{
	int64_t data[2] = {0};
	struct gtopo_comm *comm = make(30000);
	char message[128];

	(void)state;
	assert_int_equal(gtopo_register(comm, 0, data, 16), GTOPO_OK);
	assert_int_equal(gtopo_register(comm, 1, data, 8), GTOPO_OK);
	assert_int_equal(fake.lent, 2);
	assert_int_equal(gtopo_register(comm, 1, data + 1, 8), GTOPO_OK);
	assert_int_equal(gtopo_deregister(comm, 0, data), GTOPO_OK);
	assert_int_equal(gtopo_deregister(comm, 0, data), GTOPO_EINPUT);
	assert_int_equal(fake.lent, 2);
	fake.release_requested = 1;
	while (fake.release_requested)
		sched_yield();
	assert_int_equal(gtopo_comm_state(comm), GTOPO_OK);
	fake.refuses = 1;
	assert_int_equal(gtopo_deregister(comm, 1, data), GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_string_equal(message, "it stays open");
	assert_int_equal(gtopo_deregister(comm, 1, data + 1), GTOPO_ESYSTEM);
	assert_int_equal(gtopo_register(comm, 1, data, 8), GTOPO_ESYSTEM);
	drop(comm);
}

/* What one process alone could not register ends all, in its words. */
static void test_register_breaks(void **state)
{
	struct gtopo_comm *comm = make(60000);
	char message[256];
	int bytes[4];

	(void)state;
	fake.breaks = 1;
	assert_int_equal(gtopo_register(comm, 0, bytes, sizeof(bytes)),
			 GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_non_null(strstr(message, "rank 2 has no memory"));
	assert_int_equal(gtopo_comm_state(comm), GTOPO_ESYSTEM);
	drop(comm);
}

/* An operator has its memory made before any call; or it is none. */
static void test_premul(void **state)
{
	struct gtopo_comm *comm = make(60000);
	const float two = 2, three = 3;
	char message[64];
	enum gtopo_op op;

	(void)state;
	assert_int_equal(gtopo_op_create_premul(comm, 0, &two, GTOPO_FLOAT,
						GTOPO_SCALAR_HOST, &op),
			 GTOPO_OK);
	assert_int_equal(fake.premuls, 1);
	assert_int_equal(gtopo_op_destroy(comm, 0, op), GTOPO_OK);
	fake.refuses = 1;
	assert_int_equal(gtopo_op_create_premul(comm, 0, &two, GTOPO_FLOAT,
						GTOPO_SCALAR_HOST, &op),
			 GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_string_equal(message, "no memory of GPU 10");
	assert_int_equal(gtopo_op_create_premul(comm, 0, &three, GTOPO_FLOAT,
						GTOPO_SCALAR_DEVICE, &op),
			 GTOPO_ESYSTEM);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_string_equal(message, "the driver is gone");
	assert_int_equal(gtopo_comm_state(comm), GTOPO_OK);
	drop(comm);
}

static void test_refused(void **state)
{
	int64_t data[2] = {0};
	const char *odd = (const char *)data + 1;
	struct gtopo_comm *comm = make(30000);

	(void)state;
	assert_int_equal(gtopo_register(comm, 0, data, 16), GTOPO_OK);
	assert_int_equal(gtopo_register(comm, 0, data, 16), GTOPO_EINPUT);
	assert_int_equal(gtopo_register(comm, 1, data, 16), GTOPO_OK);
	assert_int_equal(gtopo_register(comm, 0, odd, 1), GTOPO_EINPUT);
	assert_int_equal(gtopo_register(comm, 0, NULL, 1), GTOPO_EINPUT);
	assert_int_equal(gtopo_deregister(comm, 0, data), GTOPO_OK);
	assert_int_equal(gtopo_deregister(comm, 0, data), GTOPO_EINPUT);
	assert_int_equal(
		gtopo_allreduce(comm, 0, odd, data, 1, GTOPO_INT64, GTOPO_SUM),
		GTOPO_EINPUT);
	assert_int_equal(gtopo_comm_stream(comm, 2, NULL), GTOPO_EINPUT);
	assert_int_equal(gtopo_comm_state(comm), GTOPO_OK);
	drop(comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_not_done),
		cmocka_unit_test(test_lonely),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_register),
		cmocka_unit_test(test_register_breaks),
		cmocka_unit_test(test_premul),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
