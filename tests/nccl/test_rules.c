/*
 * What NCCL's programs rely on beside results, as far as no other test has it:
 * `rules` names a case for each rule.
 */
#include "nccl/client.h"

#include <sched.h>

#include "nccl/cuda.h"

static int current_device(void)
{
	int device = -1;

	IS(!gt_nccl_simulated_cuda()->device(&device));
	return device;
}

/* Alone a rank copies, and multiplies where the operator does. */
static void case_one_rank(void **state)
{
	double in[2] = {3, 4}, out[2] = {0}, scalar = 5;
	void *comm, *stream = sim_stream_new();
	int premul;

	(void)state;
	OK(ncclCommInitAll(&comm, 1, NULL));
	for (int op = SUM; op <= AVG; op++) {
		out[0] = out[1] = 0;
		OK(ncclAllReduce(in, out, 2, DOUBLE, op, comm, stream));
		sim_stream_sync(stream);
		IS(out[0] == 3 && out[1] == 4);
	}
	OK(ncclAllGather(in, out, 1, DOUBLE, comm, stream));
	OK(ncclReduceScatter(in + 1, out + 1, 1, DOUBLE, SUM, comm, stream));
	OK(ncclBroadcast(in, in, 2, DOUBLE, 0, comm, stream));
	sim_stream_sync(stream);
	IS(out[0] == 3 && out[1] == 4);
	OK(ncclRedOpCreatePreMulSum(&premul, &scalar, DOUBLE, 1, comm));
	OK(ncclAllReduce(in, out, 2, DOUBLE, premul, comm, stream));
	sim_stream_sync(stream);
	IS(out[0] == 15 && out[1] == 20);
	OK(ncclReduce(in, in, 1, DOUBLE, premul, 0, comm, stream));
	sim_stream_sync(stream);
	IS(in[0] == 15);
	OK(ncclRedOpDestroy(premul, comm));
	OK(ncclCommDestroy(comm));
	sim_stream_free(stream);
}

/* Buffers begin at any element, and are no multiples of anything. */
static void body_unaligned(struct rank *rank)
{
	uint8_t in[67], out[67] = {0};
	double sums[5] = {0}, terms[5] = {1, 2, 3, 4, 5};

	for (int i = 0; i < 67; i++)
		in[i] = (uint8_t)(i + rank->rank);
	OK(ncclAllReduce(in + 1, out + 3, 61, UINT8, MAX, rank->comm,
			 rank->stream));
	OK(ncclAllReduce(terms + 1, sums + 1, 3, DOUBLE, SUM, rank->comm,
			 rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < 61; i++)
		IS(out[3 + i] == i + rank->size);
	IS(!out[2] && !out[64] && !sums[0] && !sums[4]);
	for (int i = 1; i < 4; i++)
		IS(sums[i] == rank->size * terms[i]);
}

static void case_unaligned(void **state)
{
	(void)state;
	ranks_run(3, body_unaligned);
}

/* A communicator is on the GPU that was current when it was made. */
static void body_device(struct rank *rank)
{
	int one = 1, out = 0, device = -1, other = rank->rank + 20;
	void *handle;

	IS(current_device() == rank->rank);
	sim_use_device(other);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, rank->stream));
	IS(current_device() == other);
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, rank->stream));
	OK(ncclGroupEnd());
	IS(current_device() == other);
	OK(ncclCommRegister(rank->comm, &one, sizeof(one), &handle));
	OK(ncclCommDeregister(rank->comm, handle));
	OK(ncclCommCuDevice(rank->comm, &device));
	IS(device == rank->rank && current_device() == other);
	sim_stream_sync(rank->stream);
	IS(out == rank->size);
	OK(ncclCommDestroy(rank->comm));
	IS(current_device() == other);
	rank->comm = NULL;
}

static void case_current_device(void **state)
{
	(void)state;
	ranks_run(2, body_device);
}

static void *call_at_once(void *arg)
{
	void **comm = arg, *stream = sim_stream_new();
	int one = 7, out = 0;

	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, *comm, stream));
	sim_stream_sync(stream);
	IS(out == 7);
	WANT(USAGE, ncclGroupEnd());
	sim_stream_free(stream);
	return NULL;
}

/* A thread's group holds what that thread calls, and nobody else's. */
static void case_group_of_thread(void **state)
{
	void *comm, *stream = sim_stream_new();
	int one = 1, out = 0;
	pthread_t thread;

	(void)state;
	OK(ncclCommInitAll(&comm, 1, NULL));
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comm, stream));
	IS(!pthread_create(&thread, NULL, call_at_once, &comm));
	pthread_join(thread, NULL);
	IS(sim_stream_is_idle(stream) && !out);
	OK(ncclGroupEnd());
	sim_stream_sync(stream);
	IS(out == 1);
	OK(ncclCommDestroy(comm));
	sim_stream_free(stream);
}

static void *register_twice(void *arg)
{
	void **comm = arg, *first, *second;
	char buffer[64];

	OK(ncclCommRegister(*comm, buffer, sizeof(buffer), &first));
	OK(ncclCommRegister(*comm, buffer, sizeof(buffer), &second));
	OK(ncclCommRegister(*comm, buffer, sizeof(buffer), NULL));
	OK(ncclCommDeregister(*comm, first));
	OK(ncclCommDeregister(*comm, second));
	OK(ncclCommDeregister(*comm, NULL));
	return NULL;
}

/*
 * To register is local: one rank of two does, in a thread of its own, and while
 * another thread has a group open.
 */
static void case_register(void **state)
{
	pthread_t thread;
	void *comms[2];

	(void)state;
	OK(ncclCommInitAll(comms, 2, NULL));
	OK(ncclGroupStart());
	IS(!pthread_create(&thread, NULL, register_twice, &comms[1]));
	pthread_join(thread, NULL);
	register_twice(&comms[0]);
	OK(ncclGroupEnd());
	for (int r = 0; r < 2; r++)
		OK(ncclCommDestroy(comms[r]));
}

/* What is refused in an inner group refuses all of the outer one. */
static void case_refused_inside(void **state)
{
	void *comm, *stream = sim_stream_new();
	int one = 1, out = 0;

	(void)state;
	OK(ncclCommInitAll(&comm, 1, NULL));
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comm, stream));
	OK(ncclGroupStart());
	WANT(ARGUMENT, ncclBcast(&out, 1, INT32, 1, comm, stream));
	OK(ncclGroupEnd());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comm, stream));
	WANT(ARGUMENT, ncclGroupEnd());
	WANT(USAGE, ncclGroupEnd());
	sim_stream_sync(stream);
	IS(!out);
	/* Nothing of it is left for the next one. */
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comm, stream));
	OK(ncclGroupEnd());
	sim_stream_sync(stream);
	IS(out == 1);
	OK(ncclCommDestroy(comm));
	sim_stream_free(stream);
}

int ncclAllReduceConfig(const void *in, void *out, size_t count, int type,
			int op, void *comm, void *stream, void *config);

/* Whatever is wrong with a call, nothing of its group starts. */
static void case_refused_whatever(void **state)
{
	void *comm, *other, *stream = sim_stream_new();
	int one = 1, out = 0, got = 0;
	id_t128 id;

	(void)state;
	memset(&id, 0, sizeof(id));
	OK(ncclCommInitAll(&comm, 1, NULL));
	for (int i = 0; i < 5; i++) {
		OK(ncclGroupStart());
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comm, stream));
		if (i == 0)
			got = ncclGather(&one, &out, 1, INT32, -1, comm,
					 stream);
		else if (i == 1)
			got = ncclScatter(&one, &out, 1, INT32, -1, comm,
					  stream);
		else if (i == 2)
			got = ncclAllReduceConfig(&one, &out, 1, INT32, SUM,
						  comm, stream, NULL);
		else if (i == 3)
			got = ncclCommInitRankScalable(&other, 1, 0, 2, &id,
						       NULL);
		else
			got = ncclSend(&one, 1, INT32, 1, comm, stream);
		IS(got == (i == 2 ? USAGE : ARGUMENT));
		WANT(got, ncclGroupEnd());
		sim_stream_sync(stream);
		IS(!out);
	}
	OK(ncclCommDestroy(comm));
	sim_stream_free(stream);
}

/* All collectives of no elements, on a stream that is none. */
static void call_nothing(void *comm)
{
	void *on = (void *)1;

	OK(ncclAllReduce(NULL, NULL, 0, FLOAT, SUM, comm, on));
	OK(ncclReduce(NULL, NULL, 0, FLOAT, SUM, 0, comm, on));
	OK(ncclReduceScatter(NULL, NULL, 0, FLOAT, SUM, comm, on));
	OK(ncclAllGather(NULL, NULL, 0, FLOAT, comm, on));
	OK(ncclBroadcast(NULL, NULL, 0, FLOAT, 0, comm, on));
	OK(ncclBcast(NULL, 0, FLOAT, 0, comm, on));
	OK(ncclAlltoAll(NULL, NULL, 0, FLOAT, comm, on));
	OK(ncclGather(NULL, NULL, 0, FLOAT, 0, comm, on));
	OK(ncclScatter(NULL, NULL, 0, FLOAT, 0, comm, on));
	WANT(ARGUMENT, ncclBcast(NULL, 0, FLOAT, 9, comm, on));
	WANT(ARGUMENT, ncclAllReduce(NULL, NULL, 0, 99, SUM, comm, on));
}

/* They do not touch the stream, in a group or alone, and others need not come.
 */
static void body_count_zero(struct rank *rank)
{
	int one = 1, out = 0;

	if (rank->rank)
		call_nothing(rank->comm);
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, rank->stream));
	if (!rank->rank)
		OK(ncclAllGather(NULL, NULL, 0, INT32, rank->comm, (void *)1));
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	IS(out == rank->size);
}

static void case_count_zero(void **state)
{
	(void)state;
	for (int n = 1; n <= 2; n++)
		ranks_run(n, body_count_zero);
}

enum { LONG = 1 << 20 };

/* All send first, more than goes into any queue, and receive behind it. */
static void body_messages_at_once(struct rank *rank)
{
	int32_t *out = calloc(LONG, sizeof(*out)), *in;
	int n = rank->size, next = (rank->rank + 1) % n;
	int last = (rank->rank + n - 1) % n;

	in = calloc(LONG, sizeof(*in));
	IS(in && out);
	for (int i = 0; i < LONG; i++)
		out[i] = rank->rank + i;
	OK(ncclGroupStart());
	OK(ncclSend(out, LONG, INT32, next, rank->comm, rank->stream));
	OK(ncclRecv(in, LONG, INT32, last, rank->comm, rank->stream));
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	for (int i = 0; i < LONG; i++)
		IS(in[i] == last + i);
	rank_gate(rank);
	free(in);
	free(out);
}

static void case_messages_at_once(void **state)
{
	(void)state;
	ranks_run(3, body_messages_at_once);
}

/* A group of communicators that do not block is in progress at its end. */
static void case_group_in_progress(void **state)
{
	struct client_config config = client_config(24, 21400);
	void *comms[2] = {NULL, NULL};
	id_t128 id;

	(void)state;
	config.numbers[0] = 0;
	OK(ncclGetUniqueId(&id));
	OK(ncclGroupStart());
	for (int r = 0; r < 2; r++) {
		sim_use_device(r);
		OK(ncclCommInitRankConfig(&comms[r], 2, id, r, &config));
		IS(comms[r]);
	}
	WANT(PROGRESS, ncclGroupEnd());
	for (int r = 0; r < 2; r++)
		IS(client_await(comms[r]) == SUCCESS);
	/* To finalize is as well, and is over when the others do it, too. */
	OK(ncclGroupStart());
	for (int r = 0; r < 2; r++)
		OK(ncclCommFinalize(comms[r]));
	WANT(PROGRESS, ncclGroupEnd());
	for (int r = 0; r < 2; r++) {
		IS(client_await(comms[r]) == SUCCESS);
		OK(ncclCommDestroy(comms[r]));
	}
	sim_use_device(0);
}

/* What another thread waits in. */
struct making {
	id_t128 id;
	void *comm;
	int result;
};

static void *make_first_of_two(void *arg)
{
	struct making *making = arg;

	making->result = ncclCommInitRank(&making->comm, 2, making->id, 0);
	return NULL;
}

/*
 * While one thread waits for other ranks, another one asks how it fares, and
 * registers what it allocates, and neither waits.
 */
static void case_asked_meanwhile(void **state)
{
	struct making making = {.result = -1};
	void *comm, *handle;
	pthread_t thread;
	int now, n = 0;

	(void)state;
	OK(ncclGetUniqueId(&making.id));
	IS(!pthread_create(&thread, NULL, make_first_of_two, &making));
	while (!(comm = __atomic_load_n(&making.comm, __ATOMIC_ACQUIRE)))
		sched_yield();
	OK(ncclCommGetAsyncError(comm, &now));
	IS(now == PROGRESS);
	OK(ncclCommCount(comm, &n));
	IS(n == 2);
	OK(ncclCommRegister(comm, &n, sizeof(n), &handle));
	OK(ncclCommDeregister(comm, handle));
	WANT(ARGUMENT, ncclBcast(&n, 1, INT32, 0, comm, NULL));
	OK(ncclCommAbort(comm));
	pthread_join(thread, NULL);
	IS(making.result != SUCCESS && making.result != -1);
}

/* Of a count that no memory holds nothing is computed. */
static void case_too_many(void **state)
{
	int one = 1, out = 0, now;
	void *comms[2];

	(void)state;
	OK(ncclCommInitAll(comms, 2, NULL));
	WANT(ARGUMENT,
	     ncclAllReduce(&one, &out, SIZE_MAX, INT32, SUM, comms[0], NULL));
	WANT(ARGUMENT,
	     ncclAllGather(&one, &out, SIZE_MAX / 4, INT32, comms[0], NULL));
	IS(strstr(ncclGetLastError(NULL), "ncclAllGather"));
	OK(ncclCommGetAsyncError(comms[0], &now));
	IS(now == SUCCESS);
	for (int r = 0; r < 2; r++)
		OK(ncclCommDestroy(comms[r]));
}

static void *ask_error(void *arg)
{
	*(int *)arg = strstr(ncclGetLastError(NULL), "ncclCommCount") != NULL;
	return NULL;
}

/* Programs look for these words in logs, and ask whoever is at hand. */
static void case_words(void **state)
{
	static const char *const words[] = {
		"no error",
		"unhandled cuda error",
		"unhandled system error",
		"internal error",
		"invalid argument",
		"invalid usage",
		"remote process exited or there was a network error",
		"NCCL operation in progress"};
	pthread_t thread;
	int n, seen = 0;

	(void)state;
	for (int i = SUCCESS; i <= PROGRESS; i++)
		IS(!strncmp(ncclGetErrorString(i), words[i], strlen(words[i])));
	WANT(ARGUMENT, ncclCommCount(NULL, &n));
	IS(!pthread_create(&thread, NULL, ask_error, &seen));
	pthread_join(thread, NULL);
	IS(seen);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_one_rank),
		cmocka_unit_test(case_unaligned),
		cmocka_unit_test(case_current_device),
		cmocka_unit_test(case_group_of_thread),
		cmocka_unit_test(case_refused_inside),
		cmocka_unit_test(case_refused_whatever),
		cmocka_unit_test(case_count_zero),
		cmocka_unit_test(case_messages_at_once),
		cmocka_unit_test(case_group_in_progress),
		cmocka_unit_test(case_asked_meanwhile),
		cmocka_unit_test(case_too_many),
		cmocka_unit_test(case_register),
		cmocka_unit_test(case_words),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
