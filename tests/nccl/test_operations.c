/*
 * Operations beside others: many messages, blocks in groups, operators of one
 * communicator, calls that return whatever other threads do, and streams whose
 * capture is lost or whose handle is another one's.
 */
#include "nccl/client.h"

enum { MANY = 3000 };

/* Thousands of messages are in one group, as of an all-to-all of experts. */
static void body_many_messages(struct rank *rank)
{
	static _Thread_local int32_t in[MANY], out[MANY];
	int n = rank->size, me = rank->rank;

	for (int i = 0; i < MANY; i++)
		out[i] = me * MANY + i;
	OK(ncclGroupStart());
	for (int i = 0; i < MANY; i++) {
		OK(ncclSend(&out[i], 1, INT32, (me + 1 + i) % n, rank->comm,
			    rank->stream));
		OK(ncclRecv(&in[i], 1, INT32, (me + 2 * n - 1 - i % n) % n,
			    rank->comm, rank->stream));
	}
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	for (int i = 0; i < MANY; i++)
		IS(in[i] == (me + 2 * n - 1 - i % n) % n * MANY + i);
}

static void case_many_messages(void **state)
{
	(void)state;
	ranks_run(3, body_many_messages);
}

/* Blocks that are moved are in groups as well, beside what adds up. */
static void body_blocks_in_group(struct rank *rank)
{
	int32_t in[2] = {rank->rank, rank->rank + 10}, moved[2], sum = 0;
	int32_t own = 7, gathered[2] = {0};

	OK(ncclGroupStart());
	OK(ncclAlltoAll(in, moved, 1, INT32, rank->comm, rank->stream));
	OK(ncclAllReduce(in, &sum, 1, INT32, SUM, rank->comm, rank->stream));
	OK(ncclGather(&own, gathered, 1, INT32, 1, rank->comm, rank->stream));
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	IS(moved[0] == 10 * rank->rank && moved[1] == 1 + 10 * rank->rank);
	IS(sum == 1 && gathered[1] == (rank->rank ? 7 : 0));
}

static void case_blocks_in_group(void **state)
{
	(void)state;
	ranks_run(2, body_blocks_in_group);
}

/* An operator is its communicator's, and another one does not know it. */
static void case_premul_of_one(void **state)
{
	double in = 2, out = 0, scalar = 3;
	void *one, *other, *stream = sim_stream_new();
	int op;

	(void)state;
	OK(ncclCommInitAll(&one, 1, NULL));
	OK(ncclCommInitAll(&other, 1, NULL));
	OK(ncclRedOpCreatePreMulSum(&op, &scalar, DOUBLE, 1, one));
	WANT(ARGUMENT, ncclAllReduce(&in, &out, 1, DOUBLE, op, other, stream));
	WANT(ARGUMENT, ncclRedOpDestroy(op, other));
	OK(ncclAllReduce(&in, &out, 1, DOUBLE, op, one, stream));
	sim_stream_sync(stream);
	IS(out == 6);
	OK(ncclRedOpDestroy(op, one));
	OK(ncclCommDestroy(one));
	OK(ncclCommDestroy(other));
	sim_stream_free(stream);
}

/* Two threads, of which one has what the other needs first. */
struct held {
	void *comms[2];
	pthread_mutex_t lock;
	int sums[2];
};

static void *call_behind_lock(void *arg)
{
	struct held *held = arg;
	void *stream = sim_stream_new();
	int one = 1;

	pthread_mutex_lock(&held->lock);
	OK(ncclAllReduce(&one, &held->sums[1], 1, INT32, SUM, held->comms[1],
			 stream));
	pthread_mutex_unlock(&held->lock);
	sim_stream_sync(stream);
	sim_stream_free(stream);
	return NULL;
}

/*
 * A call returns though another rank of the process cannot call yet, as its
 * thread waits for a lock that this one has: an allocator's, or Python's.
 */
static void case_lock_held(void **state)
{
	struct held held = {.lock = PTHREAD_MUTEX_INITIALIZER};
	void *stream = sim_stream_new();
	pthread_t thread;
	int one = 1;

	(void)state;
	OK(ncclCommInitAll(held.comms, 2, NULL));
	pthread_mutex_lock(&held.lock);
	IS(!pthread_create(&thread, NULL, call_behind_lock, &held));
	OK(ncclAllReduce(&one, &held.sums[0], 1, INT32, SUM, held.comms[0],
			 stream));
	IS(!sim_stream_is_idle(stream));
	pthread_mutex_unlock(&held.lock);
	pthread_join(thread, NULL);
	sim_stream_sync(stream);
	IS(held.sums[0] == 2 && held.sums[1] == 2);
	for (int r = 0; r < 2; r++)
		OK(ncclCommDestroy(held.comms[r]));
	sim_stream_free(stream);
}

/*
 * What goes wrong in a capture is said of the calls that it befalls, alone or
 * in a group, of all ranks or of one; the communicator stays, and the stream is
 * good once the capture has ended.
 */
static void body_invalidated(struct rank *rank)
{
	void *graph = sim_graph_new(), *stream = sim_stream_new();
	int one = 1, out = 0, state;

	sim_stream_capture(stream, graph);
	sim_graph_invalidate(graph);
	for (int i = 0; i < 2; i++) {
		WANT(CUDA, ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm,
					 stream));
		IS(strstr(ncclGetLastError(NULL), "was invalidated"));
	}
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, stream));
	OK(ncclSend(&one, 1, INT32, rank->rank, rank->comm, stream));
	OK(ncclRecv(&out, 1, INT32, rank->rank, rank->comm, stream));
	WANT(CUDA, ncclGroupEnd());
	OK(ncclCommGetAsyncError(rank->comm, &state));
	IS(state == SUCCESS && !out);
	sim_stream_capture(stream, NULL);
	sim_graph_free(graph);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, stream));
	sim_stream_sync(stream);
	IS(out == rank->size);
	sim_stream_free(stream);
}

static void case_invalidated(void **state)
{
	(void)state;
	ranks_run(3, body_invalidated);
}

static void do_late(void *arg)
{
	const struct timespec nap = {0, 5000000};

	nanosleep(&nap, NULL);
	*(int *)arg = 1;
}

/*
 * A stream that was destroyed has its work done still, and another one that
 * gets its handle waits for that.
 */
static void body_handle_again(struct rank *rank)
{
	void *stream = sim_stream_new();

	for (int i = 0; i < 3; i++) {
		int value = 0, sums[2] = {0};

		sim_stream_call(stream, do_late, &value);
		OK(ncclAllReduce(&value, &sums[0], 1, INT32, SUM, rank->comm,
				 stream));
		sim_stream_renew(stream);
		OK(ncclAllReduce(&sums[0], &sums[1], 1, INT32, SUM, rank->comm,
				 stream));
		sim_stream_sync(stream);
		IS(sums[1] == rank->size * rank->size);
	}
	sim_stream_free(stream);
}

static void case_handle_again(void **state)
{
	(void)state;
	ranks_run(3, body_handle_again);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_many_messages),
		cmocka_unit_test(case_blocks_in_group),
		cmocka_unit_test(case_premul_of_one),
		cmocka_unit_test(case_lock_held),
		cmocka_unit_test(case_invalidated),
		cmocka_unit_test(case_handle_again),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
