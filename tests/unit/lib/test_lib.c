/* libgtopo's own: what is asked of a communicator, and what goes wrong. */
#include "unit/test.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "gtopo.h"

enum { COUNT = 3001 };

struct fixture {
	struct gtopo_config config;
	struct gtopo_comm *comm;
	int nranks;
};

/* Ranks in rings of their own kind: 2, 4 or 8 of them. */
static void open_limited(struct fixture *f, int nranks, unsigned flags,
			 int64_t timeout_ms)
{
	char path[4096], message[256] = "";

	f->config = (struct gtopo_config)GTOPO_CONFIG_INIT;
	f->config.plan = gt_test_path(
		path, nranks == 2   ? "tests/cases/plan/good/minimal/plan.json"
		      : nranks == 4 ? "tests/cases/plan/good/ring4/plan.json"
				    : "tests/cases/plan/good/ring8-two/"
				      "plan.json");
	f->config.flags = flags;
	f->config.timeout_ms = timeout_ms;
	f->nranks = nranks;
	if (gtopo_comm_create(&f->config, &f->comm, message, sizeof(message)))
		fail_msg("%s", message);
	assert_int_equal(gtopo_comm_ranks(f->comm), nranks);
	gtopo_comm_local(f->comm, NULL, NULL);
}

static void open_comm(struct fixture *f, int nranks, unsigned flags)
{
	open_limited(f, nranks, flags, 30000);
}

static void close_comm(struct fixture *f)
{
	gtopo_comm_destroy(f->comm);
}

/* Element i of rank r. */
static int64_t value(int rank, size_t i)
{
	return (int64_t)(i * 7 + 1) * (rank + 1);
}

static int64_t sum(int nranks, size_t i)
{
	return (int64_t)(i * 7 + 1) * nranks * (nranks + 1) / 2;
}

static int64_t *make(struct fixture *f, size_t blocks)
{
	size_t n = COUNT * blocks;
	int64_t *data = calloc(n * (size_t)f->nranks, sizeof(*data));

	assert_non_null(data);
	for (int r = 0; r < f->nranks; r++)
		for (size_t i = 0; i < n; i++)
			data[(size_t)r * n + i] = value(r, i);
	return data;
}

/* Several operations queued at once, in place, on two communicators. */
static void test_many(void **state)
{
	struct fixture f[2];
	int64_t *data[2], want;

	(void)state;
	for (int c = 0; c < 2; c++) {
		open_comm(&f[c], 4 << c, GTOPO_NONBLOCKING);
		data[c] = make(&f[c], 1);
	}
	for (int op = 0; op < 3; op++)
		for (int c = 0; c < 2; c++)
			for (int r = f[c].nranks; r-- > 0;) {
				int64_t *mine = data[c] + (size_t)r * COUNT;

				assert_int_equal(
					gtopo_allreduce(f[c].comm, r, mine,
							mine, COUNT,
							GTOPO_INT64, GTOPO_SUM),
					GTOPO_OK);
			}
	for (int c = 0; c < 2; c++) {
		assert_int_equal(gtopo_wait(f[c].comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_OK);
		assert_int_equal(gtopo_comm_state(f[c].comm), GTOPO_OK);
		for (int r = 0; r < f[c].nranks; r++)
			for (size_t i = 0; i < COUNT; i++) {
				want = sum(f[c].nranks, i) * f[c].nranks *
				       f[c].nranks;
				assert_int_equal(data[c][(size_t)r * COUNT + i],
						 want);
			}
		free(data[c]);
		close_comm(&f[c]);
	}
}

/* A rank that never calls is named when the time limit is over. */
static void test_absent(void **state)
{
	struct fixture f;
	int64_t *data;
	char words[256];

	(void)state;
	open_limited(&f, 4, 0, 2000);
	data = make(&f, 1);
	/* The first operation has all ranks; of the second one lacks. */
	for (int i = 0; i < 7; i++)
		assert_int_equal(gtopo_allreduce(f.comm, i % 4,
						 data + i % 4 * COUNT,
						 data + i % 4 * COUNT, COUNT,
						 GTOPO_INT64, GTOPO_SUM),
				 GTOPO_OK);
	assert_int_equal(gtopo_wait(f.comm, 0, -1), GTOPO_ESYSTEM);
	assert_int_equal(gtopo_comm_state(f.comm), GTOPO_ESYSTEM);
	gtopo_comm_message(f.comm, words, sizeof(words));
	assert_string_equal(words, "rank 3 has not called operation 1 within "
				   "2.0 s of rank 0");
	free(data);
	close_comm(&f);
}

/*
 * The limit is of one operation: ranks that wait often, but not long, and
 * messages in between, are no failure.
 */
static void test_patient(void **state)
{
	const struct timespec pause = {.tv_nsec = 120000000};
	struct fixture f;
	int64_t *data;

	(void)state;
	open_limited(&f, 2, 0, 4000);
	data = make(&f, 1);
	for (int turn = 0; turn < 40; turn++) {
		assert_int_equal(gtopo_allreduce(f.comm, turn % 2,
						 data + turn % 2 * COUNT,
						 data + turn % 2 * COUNT, 1,
						 GTOPO_INT64, GTOPO_MAX),
				 GTOPO_OK);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	free(data);
	close_comm(&f);
}

/* A block of every rank, out of place and within the larger buffer. */
static void test_blocks(void **state)
{
	struct fixture f;
	int64_t *in, *out, *mine;
	size_t n = COUNT * 4;

	(void)state;
	open_comm(&f, 4, 0);
	in = make(&f, 4);
	out = calloc(n * 4, sizeof(*out));
	assert_non_null(out);
	for (int r = 0; r < 4; r++) {
		mine = in + (size_t)r * n;
		/* The sum of the own block stays where it was. */
		assert_int_equal(gtopo_reducescatter(f.comm, r, mine,
						     mine + r * COUNT, COUNT,
						     GTOPO_INT64, GTOPO_SUM),
				 GTOPO_OK);
	}
	for (int r = 0; r < 4; r++)
		assert_int_equal(gtopo_allgather(f.comm, r,
						 in + (size_t)r * n + r * COUNT,
						 out + (size_t)r * n, COUNT,
						 GTOPO_INT64),
				 GTOPO_OK);
	for (int r = 0; r < 4; r++)
		assert_int_equal(gtopo_wait(f.comm, r, -1), GTOPO_OK);
	for (size_t i = 0; i < n * 4; i++)
		assert_int_equal(out[i], sum(4, i % n));
	free(in);
	free(out);
	close_comm(&f);
}

/* Nothing of a group starts before its end, or if a call was refused. */
static void test_group(void **state)
{
	struct fixture f;
	int64_t *data;

	(void)state;
	open_comm(&f, 2, 0);
	data = make(&f, 1);
	assert_int_equal(gtopo_group_end(f.comm, 0), GTOPO_EINPUT);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(gtopo_group_start(f.comm, r), GTOPO_OK);
		assert_int_equal(gtopo_group_start(f.comm, r), GTOPO_EINPUT);
		assert_int_equal(gtopo_allreduce(f.comm, r, data + r * COUNT,
						 data + r * COUNT, COUNT,
						 GTOPO_INT64, GTOPO_SUM),
				 GTOPO_OK);
	}
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, 20), GTOPO_OK);
	assert_int_equal(data[COUNT], value(1, 0));
	assert_int_equal(gtopo_group_end(f.comm, 0), GTOPO_OK);
	assert_int_equal(gtopo_wait(f.comm, 0, 20), GTOPO_IN_PROGRESS);
	assert_int_equal(gtopo_wait(f.comm, 1, 20), GTOPO_OK);
	assert_int_equal(gtopo_group_end(f.comm, 1), GTOPO_OK);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	assert_int_equal(data[COUNT], sum(2, 0));

	assert_int_equal(gtopo_group_start(f.comm, 0), GTOPO_OK);
	assert_int_equal(gtopo_allreduce(f.comm, 0, data, data, COUNT,
					 GTOPO_INT64, GTOPO_SUM),
			 GTOPO_OK);
	assert_int_equal(
		gtopo_allreduce(f.comm, 0, data, data, COUNT, 99, GTOPO_SUM),
		GTOPO_EINPUT);
	assert_int_equal(gtopo_group_end(f.comm, 0), GTOPO_EINPUT);
	assert_int_equal(gtopo_wait(f.comm, 0, 0), GTOPO_OK);
	free(data);
	close_comm(&f);
}

/* Configs of older versions end earlier; what lies behind is not read. */
static void test_older_config(void **state)
{
	struct old_config {
		size_t size;
		const char *plan;
		int64_t timeout_ms;
		unsigned flags;
		struct gtopo_comm *beside;
		enum gtopo_device device;
	};
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	char path[4096];

	(void)state;
	assert_int_equal(offsetof(struct gtopo_config, max_blocks),
			 sizeof(struct old_config));
	config.plan =
		gt_test_path(path, "tests/cases/plan/good/minimal/plan.json");
	config.max_blocks = 3;
	assert_int_equal(gtopo_comm_create(&config, &comm, NULL, 0), GTOPO_OK);
	gtopo_comm_destroy(comm);
	config.size = sizeof(struct old_config);
	assert_int_equal(gtopo_comm_create(&config, &comm, NULL, 0), GTOPO_OK);
	gtopo_comm_destroy(comm);
}

static void test_refused(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	struct fixture f;
	char message[256], path[4096];
	int64_t x = 0;

	(void)state;
	assert_int_equal(
		gtopo_comm_create(&config, &comm, message, sizeof(message)),
		GTOPO_EINPUT);
	assert_string_equal(message, "the config names no plan");
	assert_int_equal(
		gtopo_comm_create(&config, NULL, message, sizeof(message)),
		GTOPO_EINPUT);
	/* No GPU here, or none for this plan; or built without CUDA. */
	config.plan =
		gt_test_path(path, "tests/cases/plan/good/minimal/plan.json");
	config.device = GTOPO_CUDA;
	assert_true(gtopo_comm_create(&config, &comm, message,
				      sizeof(message)) < 0);
	assert_true(strstr(message, "GPU") || strstr(message, "CUDA"));
	config.device = GTOPO_AUTO + 1;
	assert_int_equal(
		gtopo_comm_create(&config, &comm, message, sizeof(message)),
		GTOPO_EINPUT);
	assert_string_equal(message, "device '3' is not known");
	config.device = GTOPO_HOST;
	config.plan = "/nowhere/plan.json";
	assert_int_equal(
		gtopo_comm_create(&config, &comm, message, sizeof(message)),
		GTOPO_EINPUT);
	assert_non_null(strstr(message, "/nowhere/plan.json: cannot open"));
	config.size--;
	assert_int_equal(gtopo_comm_create(&config, &comm, NULL, 0),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_comm_create(NULL, &comm, NULL, 0), GTOPO_EINPUT);
	assert_null(comm);
	open_comm(&f, 2, 0);
	assert_int_equal(
		gtopo_allreduce(f.comm, 2, &x, &x, 1, GTOPO_INT64, GTOPO_SUM),
		GTOPO_EINPUT);
	assert_int_equal(
		gtopo_allreduce(f.comm, 0, NULL, &x, 1, GTOPO_INT64, GTOPO_SUM),
		GTOPO_EINPUT);
	assert_int_equal(gtopo_allreduce(f.comm, 0, &x, &x, UINT64_MAX,
					 GTOPO_INT64, GTOPO_SUM),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_wait(f.comm, 2, 0), GTOPO_EINPUT);
	/* Host ranks have neither GPU nor stream; all memory is theirs. */
	assert_int_equal(gtopo_comm_gpu(f.comm, 0), -1);
	assert_int_equal(gtopo_comm_stream(f.comm, 0, NULL), GTOPO_EINPUT);
	assert_int_equal(gtopo_register(f.comm, 0, &x, sizeof(x)), GTOPO_OK);
	assert_int_equal(gtopo_comm_state(f.comm), GTOPO_OK);
	close_comm(&f);
	gtopo_comm_destroy(NULL);
}

/* From and to every root, what others do not have left out. */
static void test_rooted(void **state)
{
	struct fixture f;
	int64_t *in, *out;

	(void)state;
	open_comm(&f, 4, 0);
	in = make(&f, 1);
	out = calloc(2 * COUNT * 4, sizeof(*out));
	assert_non_null(out);
	for (int root = 0; root < 4; root++) {
		for (int r = 0; r < 4; r++) {
			int64_t *mine = out + (size_t)r * 2 * COUNT;

			assert_int_equal(
				gtopo_broadcast(f.comm, r,
						r == root ? in + r * COUNT
							  : NULL,
						mine, COUNT, GTOPO_INT64, root),
				GTOPO_OK);
			assert_int_equal(
				gtopo_reduce(f.comm, r, in + r * COUNT,
					     r == root ? mine + COUNT : NULL,
					     COUNT, GTOPO_INT64, GTOPO_SUM,
					     root),
				GTOPO_OK);
		}
		assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_OK);
		for (int r = 0; r < 4; r++)
			for (size_t i = 0; i < COUNT; i++)
				assert_int_equal(out[(size_t)r * 2 * COUNT + i],
						 value(root, i));
		for (size_t i = 0; i < COUNT; i++)
			assert_int_equal(
				out[(size_t)root * 2 * COUNT + COUNT + i],
				sum(4, i));
	}
	assert_int_equal(
		gtopo_broadcast(f.comm, 0, NULL, out, COUNT, GTOPO_INT64, 0),
		GTOPO_EINPUT);
	assert_int_equal(
		gtopo_broadcast(f.comm, 0, in, out, COUNT, GTOPO_INT64, 4),
		GTOPO_EINPUT);
	free(in);
	free(out);
	close_comm(&f);
}

/* Blocks to and from all, on a plan that has such channels. */
static void test_mesh(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct fixture f = {.nranks = 5};
	char path[4096], message[256];
	int64_t *in, *out;
	size_t n = COUNT * 5;

	(void)state;
	config.plan = gt_test_path(
		path, "tests/cases/plan/good/mesh5-alltoall/plan.json");
	assert_int_equal(
		gtopo_comm_create(&config, &f.comm, message, sizeof(message)),
		GTOPO_OK);
	in = make(&f, 5);
	out = calloc(n * 5, sizeof(*out));
	assert_non_null(out);
	for (int r = 0; r < 5; r++)
		assert_int_equal(gtopo_alltoall(f.comm, r, in + (size_t)r * n,
						out + (size_t)r * n, COUNT,
						GTOPO_INT64),
				 GTOPO_OK);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	for (int r = 0; r < 5; r++)
		for (size_t i = 0; i < n; i++)
			assert_int_equal(out[(size_t)r * n + i],
					 value((int)(i / COUNT),
					       (size_t)r * COUNT + i % COUNT));
	free(in);
	free(out);
	close_comm(&f);
}

/* Say what was refused last; the communicator goes on. */
static void assert_goes_on(struct gtopo_comm *comm, const char *why)
{
	char message[256] = "";

	assert_int_equal(gtopo_comm_state(comm), GTOPO_OK);
	gtopo_comm_message(comm, message, sizeof(message));
	if (!strstr(message, why))
		fail_msg("says '%s', not '%s'", message, why);
}

/* Arguments that make no sense are refused in words, and nothing is left. */
static void test_refused_words(void **state)
{
	struct fixture f;
	int64_t x = 3, y = 4;
	enum gtopo_op op;

	(void)state;
	open_comm(&f, 2, 0);
	assert_goes_on(f.comm, "");
	assert_true(gtopo_allreduce(f.comm, 2, &x, &x, 1, GTOPO_INT64, 0) < 0);
	assert_goes_on(f.comm, "'2' is no rank of this process, which has 0 to "
			       "1");
	assert_true(gtopo_allreduce(f.comm, 0, &x, &x, 1, 77, 0) < 0);
	assert_goes_on(f.comm, "type '77' is not known");
	assert_true(gtopo_allreduce(f.comm, 0, &x, &x, 1, GTOPO_INT64, 9) < 0);
	assert_goes_on(f.comm, "operator '9' is none that rank 0 has made for "
			       "int64");
	assert_true(gtopo_allreduce(f.comm, 1, &x, NULL, 1, GTOPO_INT64, 0) <
		    0);
	assert_goes_on(f.comm, "rank 1 has no output");
	assert_true(gtopo_broadcast(f.comm, 0, &x, &x, 1, GTOPO_INT64, -1) < 0);
	assert_goes_on(f.comm, "root '-1' is no rank, 0 to 1");
	assert_true(gtopo_allgather(f.comm, 0, &x, &x, 1ull << 61,
				    GTOPO_INT64) < 0);
	assert_goes_on(f.comm, "a count of '2305843009213693952' is more");
	assert_true(gtopo_send(f.comm, 0, &x, 1, GTOPO_INT64, 2) < 0);
	assert_goes_on(f.comm, "peer '2' is no rank, 0 to 1");
	assert_true(gtopo_recv(f.comm, 0, NULL, 1, GTOPO_INT64, 1) < 0);
	assert_goes_on(f.comm, "rank 0 has no buffer");
	assert_true(gtopo_group_end(f.comm, 0) < 0);
	assert_goes_on(f.comm, "no group is open");
	assert_true(gtopo_comm_stream(f.comm, 0, NULL) < 0);
	assert_goes_on(f.comm, "ranks on the host have no stream");
	assert_true(gtopo_op_destroy(f.comm, 1, 300) < 0);
	assert_goes_on(f.comm, "rank 1 has no operator '300'");
	assert_true(gtopo_op_create_premul(f.comm, 0, NULL, GTOPO_INT64,
					   GTOPO_SCALAR_HOST, &op) < 0);
	assert_goes_on(f.comm, "makes no operator");
	assert_true(gtopo_deregister(f.comm, 0, &x) < 0);
	assert_goes_on(f.comm, "no such memory is registered");
	gtopo_allreduce(f.comm, 0, &x, &x, 1, GTOPO_INT64, GTOPO_SUM);
	gtopo_allreduce(f.comm, 1, &y, &y, 1, GTOPO_INT64, GTOPO_SUM);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	assert_true(x == 7 && y == 7);
	close_comm(&f);
}

/* What the plan has no channels for is told, to each rank once. */
static void test_not_served(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct fixture f = {.nranks = 4};
	char path[4096], message[256];
	int64_t x[4] = {1, 2, 3, 4}, y[4][4] = {{0}};

	(void)state;
	config.plan = gt_test_path(
		path, "tests/cases/plan/good/chain4-gather/plan.json");
	assert_int_equal(
		gtopo_comm_create(&config, &f.comm, message, sizeof(message)),
		GTOPO_OK);
	for (int turn = 0; turn < 2; turn++) {
		for (int r = 0; r < 4; r++)
			gtopo_alltoall(f.comm, r, x, x, 1, GTOPO_INT64);
		assert_int_equal(gtopo_wait(f.comm, 0, -1), GTOPO_EINPUT);
		assert_goes_on(f.comm, "the plan has nothing for 'alltoall'");
		assert_int_equal(gtopo_wait(f.comm, 0, -1), GTOPO_OK);
		assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_EINPUT);
		assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_OK);
		assert_int_equal(x[1], 2);
	}
	/* What the plan is for works as if nothing had been. */
	for (int r = 0; r < 4; r++)
		assert_int_equal(
			gtopo_allgather(f.comm, r, &x[r], y[r], 1, GTOPO_INT64),
			GTOPO_OK);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	assert_memory_equal(y[3], x, sizeof(x));
	close_comm(&f);
}

/*
 * A plan that is right out of place only moves nothing between buffers that
 * overlap, and says so.
 */
static void test_out_of_place(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct fixture f = {.nranks = 3};
	char path[4096], message[256];
	int64_t x[3][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}, y[3][3];

	(void)state;
	config.plan = gt_test_path(
		path, "tests/cases/plan/good/steps3-out-of-place/plan.json");
	assert_int_equal(
		gtopo_comm_create(&config, &f.comm, message, sizeof(message)),
		GTOPO_OK);
	for (int r = 0; r < 3; r++)
		gtopo_alltoall(f.comm, r, x[r], y[r], 1, GTOPO_INT64);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	assert_int_equal(y[2][1], 5);
	for (int r = 0; r < 3; r++)
		gtopo_alltoall(f.comm, r, x[r], r ? y[r] : x[0], 1,
			       GTOPO_INT64);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_EINPUT);
	assert_goes_on(f.comm, "is for operations out of place only, and the "
			       "buffers of alltoall overlap");
	assert_int_equal(x[0][1], 1);
	for (int r = 0; r < 3; r++)
		gtopo_alltoall(f.comm, r, y[r], x[r], 1, GTOPO_INT64);
	assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	assert_int_equal(x[0][1], 1);
	close_comm(&f);
}

/* Ranks that call different operations are told; nothing moves. */
static void test_mismatch(void **state)
{
	struct fixture f;
	char message[256];
	int64_t *data;

	(void)state;
	open_comm(&f, 2, 0);
	data = make(&f, 1);
	gtopo_allreduce(f.comm, 0, data, data, COUNT, GTOPO_INT64, GTOPO_SUM);
	gtopo_allreduce(f.comm, 1, data, data, 5, GTOPO_INT64, GTOPO_SUM);
	assert_int_equal(gtopo_wait(f.comm, 0, -1), GTOPO_EINPUT);
	gtopo_comm_message(f.comm, message, sizeof(message));
	assert_string_equal(message,
			    "rank 1 calls 'operation 0: allreduce of 5 int64, "
			    "op sum, root 0', rank 0 'operation 0: allreduce "
			    "of 3001 int64, op sum, root 0'");
	assert_int_equal(gtopo_allreduce(f.comm, 0, data, data, COUNT,
					 GTOPO_INT64, GTOPO_SUM),
			 GTOPO_EINPUT);
	assert_int_equal(data[0], value(0, 0));
	free(data);
	close_comm(&f);
}

static void *wait_in_thread(void *arg)
{
	struct fixture *f = arg;

	return (void *)(intptr_t)gtopo_wait(f->comm, 0, -1);
}

/* Who waits for a rank that never comes gets away. */
static void test_abort(void **state)
{
	struct fixture f;
	char message[256];
	pthread_t thread;
	int64_t *data;
	void *rc;

	(void)state;
	open_comm(&f, 2, 0);
	data = make(&f, 1);
	gtopo_allreduce(f.comm, 0, data, data, COUNT, GTOPO_INT64, GTOPO_SUM);
	assert_int_equal(gtopo_wait(f.comm, 0, 10), GTOPO_IN_PROGRESS);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &f), 0);
	gtopo_comm_abort(f.comm);
	pthread_join(thread, &rc);
	assert_int_equal((intptr_t)rc, GTOPO_EABORTED);
	assert_int_equal(gtopo_comm_state(f.comm), GTOPO_EABORTED);
	gtopo_comm_message(f.comm, message, sizeof(message));
	assert_string_equal(message, "aborted");
	free(data);
	close_comm(&f);
	/* The process can make another. */
	test_group(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_patient),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_older_config),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_words),
		cmocka_unit_test(test_rooted),
		cmocka_unit_test(test_mesh),
		cmocka_unit_test(test_not_served),
		cmocka_unit_test(test_out_of_place),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
