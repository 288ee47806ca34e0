/*
 * What ends early: aborts in every state, ranks that do not fit together or
 * call different things, communicators that are destroyed too soon.
 */
#include "nccl/client.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { RANKS = 3, MOST_MS = 20000 /* on any machine; 100 is what is meant */ };

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A call that another thread makes, and waits in. */
struct waiter {
	pthread_t thread;
	void *comm, *made;
	id_t128 id;
	int size, rank, result;
	_Atomic int began;
};

static void *init_main(void *arg)
{
	struct waiter *w = arg;

	sim_use_device(w->rank);
	w->began = 1;
	w->result = ncclCommInitRank(&w->comm, w->size, w->id, w->rank);
	return NULL;
}

static void *split_main(void *arg)
{
	struct waiter *w = arg;

	w->began = 1;
	w->result = ncclCommSplit(w->comm, 0, 0, &w->made, NULL);
	return NULL;
}

static void start(struct waiter *w, void *(*body)(void *arg))
{
	atomic_init(&w->began, 0);
	IS(!pthread_create(&w->thread, NULL, body, w));
	while (!w->began)
		sched_yield();
}

static void case_abort_init(void **state)
{
	struct waiter w = {.size = 2, .rank = 0};
	void *comm;
	long since;

	(void)state;
	OK(ncclGetUniqueId(&w.id));
	start(&w, init_main);
	while (!(comm = __atomic_load_n(&w.comm, __ATOMIC_ACQUIRE)))
		sched_yield();
	since = now_ms();
	OK(ncclCommAbort(comm));
	pthread_join(w.thread, NULL);
	IS(w.result != SUCCESS && !w.comm);
	print_message("an abort ended init in %ld ms\n", now_ms() - since);
	IS(now_ms() - since < MOST_MS);
}

/* Two comms, so that the other rank's thread has something to do in between. */
static void make_two(void *comms[2])
{
	OK(ncclCommInitAll(comms, 2, NULL));
}

static void case_abort_split(void **state)
{
	struct waiter w = {.size = 2};
	void *comms[2];
	long since;

	(void)state;
	make_two(comms);
	w.comm = comms[0];
	start(&w, split_main);
	since = now_ms();
	OK(ncclCommAbort(comms[0]));
	pthread_join(w.thread, NULL);
	IS(w.result != SUCCESS && !w.made);
	IS(now_ms() - since < MOST_MS);
	OK(ncclCommAbort(comms[1]));
}

/* An operation that the other rank never calls, ended from another thread. */
static void case_abort_operation(void **state)
{
	void *comms[2], *stream = sim_stream_new();
	int one = 1, out = 0, seen;
	long since;

	(void)state;
	for (int how = 0; how < 2; how++) {
		make_two(comms);
		if (how)
			OK(ncclRecv(&out, 1, INT32, 1, comms[0], stream));
		else
			OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comms[0],
					 stream));
		IS(!sim_stream_is_idle(stream));
		since = now_ms();
		OK(ncclCommAbort(comms[0]));
		sim_stream_sync(stream);
		print_message("an abort ended it in %ld ms\n",
			      now_ms() - since);
		IS(now_ms() - since < MOST_MS);
		WANT(ARGUMENT, ncclCommAbort(comms[0]));
		/* The other one hears of it, and says so in all calls. */
		do
			OK(ncclCommGetAsyncError(comms[1], &seen));
		while (seen == SUCCESS && now_ms() - since < MOST_MS);
		IS(seen == REMOTE);
		WANT(REMOTE, ncclBcast(&out, 1, INT32, 0, comms[1], stream));
		IS(strstr(ncclGetLastError(NULL), "aborted") ||
		   strstr(ncclGetLastError(NULL), "interrupted"));
		IS(strstr(ncclGetLastError(NULL), "process 0 ("));
		OK(ncclCommAbort(comms[1]));
	}
	sim_stream_free(stream);
}

enum { FULL = 2 /* calls, of which the last one finds no room */ };

static void *call_main(void *arg)
{
	struct waiter *w = arg;
	int one = 1, out = 0;

	for (int i = 0; !w->result && i < FULL; i++) {
		if (i == FULL - 1)
			w->began = 1;
		w->result = ncclAllReduce(&one, &out, 1, INT32, SUM, w->comm,
					  w->made);
	}
	sim_stream_sync(w->made);
	return NULL;
}

/*
 * A call waits, as the queue of its GPU is full of what another rank does not
 * call: an abort from another thread ends it as well.
 */
static void case_abort_full_queue(void **state)
{
	struct waiter w = {.size = 2, .made = sim_stream_new()};
	void *comms[2];
	long since;
	int seen;

	(void)state;
	make_two(comms);
	w.comm = comms[0];
	sim_stream_room(2); /* an operation, and the mark behind it */
	start(&w, call_main);
	OK(ncclCommGetAsyncError(comms[0], &seen));
	IS(seen == SUCCESS);
	since = now_ms();
	OK(ncclCommAbort(comms[0]));
	pthread_join(w.thread, NULL);
	print_message("an abort ended a call in %ld ms\n", now_ms() - since);
	IS(now_ms() - since < MOST_MS);
	sim_stream_room(0);
	OK(ncclCommAbort(comms[1]));
	sim_stream_free(w.made);
}

static void *finalize_main(void *arg)
{
	struct waiter *w = arg;

	w->began = 1;
	w->result = ncclCommFinalize(w->comm);
	return NULL;
}

/* Who finalizes waits for its operations, until an abort ends them. */
static void case_abort_finalize(void **state)
{
	struct waiter w = {.size = 2};
	void *comms[2], *stream = sim_stream_new();
	int one = 1, out = 0;
	long since;

	(void)state;
	make_two(comms);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comms[0], stream));
	w.comm = comms[0];
	start(&w, finalize_main);
	since = now_ms();
	OK(ncclCommAbort(comms[0]));
	pthread_join(w.thread, NULL);
	print_message("an abort ended finalize in %ld ms\n", now_ms() - since);
	IS(now_ms() - since < MOST_MS);
	sim_stream_sync(stream);
	OK(ncclCommAbort(comms[1]));
	sim_stream_free(stream);
}

/* Programs end without a word, some with operations that never end. */
static void case_exit(void **state)
{
	int status;
	long since = now_ms();
	pid_t pid;

	(void)state;
	for (int hangs = 0; hangs < 2; hangs++) {
		fflush(NULL);
		pid = fork();
		if (!pid) {
			void *comms[2];
			int one = 1, out = 0;

			make_two(comms);
			if (hangs)
				OK(ncclAllReduce(&one, &out, 1, INT32, SUM,
						 comms[0], sim_stream_new()));
			exit(0);
		}
		IS(waitpid(pid, &status, 0) == pid && status == 0);
	}
	print_message("both ended in %ld ms\n", now_ms() - since);
	IS(now_ms() - since < MOST_MS);
}

/* Destroyed in any order, with an operation under way: nobody waits. */
static void case_destroy(void **state)
{
	void *a[2], *b[2], *stream = sim_stream_new(), *late;
	int one = 1, out = 0, other = 0;

	(void)state;
	late = sim_stream_new();
	make_two(a);
	make_two(b);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, a[0], stream));
	OK(ncclCommDestroy(a[0]));
	OK(ncclCommDestroy(b[1]));
	OK(ncclCommDestroy(b[0]));
	IS(!sim_stream_is_idle(stream));
	OK(ncclAllReduce(&one, &other, 1, INT32, SUM, a[1], late));
	sim_stream_sync(stream);
	sim_stream_sync(late);
	IS(out == 2 && other == 2);
	OK(ncclCommDestroy(a[1]));
	OK(ncclCommDestroy(NULL));
	OK(ncclCommAbort(NULL));
	OK(ncclCommFinalize(NULL));
	sim_stream_free(stream);
	sim_stream_free(late);
}

/* Different calls end the communicator, in words, instead of hanging it. */
static void case_mismatch(void **state)
{
	void *comms[2], *streams[2];
	int in[8] = {0}, out[8], seen[2];

	(void)state;
	make_two(comms);
	for (int r = 0; r < 2; r++) {
		streams[r] = sim_stream_new();
		OK(ncclAllReduce(in, out + r * 4, (size_t)(r + 1), INT32, SUM,
				 comms[r], streams[r]));
	}
	/* One sees it, and the other does as well or is told by that one. */
	for (int r = 0; r < 2; r++) {
		sim_stream_sync(streams[r]);
		OK(ncclCommGetAsyncError(comms[r], &seen[r]));
		IS(seen[r] == USAGE || seen[r] == REMOTE);
		WANT(seen[r], ncclBcast(out, 1, INT32, 0, comms[r], NULL));
		IS(strstr(ncclGetLastError(comms[r]), "allreduce of 2 int32"));
	}
	IS(seen[0] == USAGE || seen[1] == USAGE);
	for (int r = 0; r < 2; r++) {
		OK(ncclCommAbort(comms[r]));
		sim_stream_free(streams[r]);
	}
}

/* Two ranks that come with these numbers, and what both are told. */
static void misfit(int size, int rank, int device, const char *words)
{
	struct waiter w = {.size = 2, .rank = 0};
	void *comm;
	int result;

	OK(ncclGetUniqueId(&w.id));
	start(&w, init_main);
	sim_use_device(device);
	result = ncclCommInitRank(&comm, size, w.id, rank);
	IS(result == USAGE && !comm);
	IS(strstr(ncclGetLastError(NULL), words));
	pthread_join(w.thread, NULL);
	IS(w.result == USAGE && !w.comm);
	sim_use_device(0);
}

static void case_misfits(void **state)
{
	id_t128 none = {{0}};
	void *comm;

	(void)state;
	misfit(3, 1, 1, "ranks, another one");
	misfit(2, 0, 1, "two ranks 0");
	misfit(2, 1, 0, "Duplicate GPU detected");
	WANT(USAGE, ncclCommInitRank(&comm, 2, none, 0));
	IS(strstr(ncclGetLastError(NULL), "no unique id"));
	OK(ncclGetUniqueId(&none));
	WANT(ARGUMENT, ncclCommInitRank(&comm, 2, none, 2));
	WANT(ARGUMENT, ncclCommInitRank(&comm, 0, none, 0));
	OK(ncclCommInitRankScalable(&comm, 1, 0, 1, &none, NULL));
	OK(ncclCommDestroy(comm));
}

/* How many of the calls with a parent's communicator a child is not refused. */
static int count_taken(void *comm)
{
	void *made = NULL, *on = (void *)1;
	int n = 0, taken;

	taken = ncclCommCount(comm, &n) != USAGE;
	taken += ncclCommGetAsyncError(comm, &n) != USAGE;
	taken += ncclBcast(&n, 1, INT32, 0, comm, on) != USAGE;
	taken += ncclSend(&n, 1, INT32, 0, comm, on) != USAGE;
	taken += ncclCommSplit(comm, 0, 0, &made, NULL) != USAGE;
	taken += ncclCommRegister(comm, &n, sizeof(n), &made) != USAGE;
	taken += ncclCommFinalize(comm) != USAGE;
	taken += ncclCommRevoke(comm, 0) != USAGE;
	taken += ncclCommDestroy(comm) != USAGE;
	taken += ncclCommAbort(comm) != USAGE;
	return taken + !strstr(ncclGetLastError(NULL), "fork()");
}

/* A child has no threads of its parent's, so it has none of its handles. */
static void case_fork(void **state)
{
	void *comms[2];
	int status;
	pid_t pid;

	(void)state;
	make_two(comms);
	pid = fork();
	if (!pid)
		_exit(count_taken(comms[0]) + count_taken(comms[1]));
	IS(waitpid(pid, &status, 0) == pid && status == 0);
	OK(ncclCommDestroy(comms[0]));
	OK(ncclCommDestroy(comms[1]));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		/* Before there are threads, as it forks. */
		cmocka_unit_test(case_exit),
		cmocka_unit_test(case_abort_init),
		cmocka_unit_test(case_abort_split),
		cmocka_unit_test(case_abort_operation),
		cmocka_unit_test(case_abort_full_queue),
		cmocka_unit_test(case_abort_finalize),
		cmocka_unit_test(case_destroy),
		cmocka_unit_test(case_mismatch),
		cmocka_unit_test(case_misfits),
		cmocka_unit_test(case_fork),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
