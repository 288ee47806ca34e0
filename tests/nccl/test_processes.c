/*
 * Ranks in several processes: what they compute, and how those go on that are
 * left when one of them is killed.
 */
#include "nccl/processes.h"

enum { COUNT = 20000, CHILD_S = 40 };

/* One rank a process, and one that has all that are left. */
static int first_of(int p)
{
	static const int firsts[PROCESSES_MOST + 1] = {0, 2, 3, 6};

	return firsts[p];
}

struct local {
	void *comm, *stream;
	int32_t *in, *out;
};

static void body_uneven(int p, int n, const id_t128 *id)
{
	int first = first_of(p), end = first_of(p + 1), size = first_of(n);
	struct local local[PROCESSES_MOST];

	OK(ncclGroupStart());
	/* Ranks do not lie in order: process 0 has the last ones. */
	for (int i = first; i < end; i++) {
		sim_use_device(i);
		OK(ncclCommInitRank(&local[i - first].comm, size, *id,
				    size - 1 - i));
	}
	OK(ncclGroupEnd());
	OK(ncclGroupStart());
	for (int i = first; i < end; i++) {
		struct local *my = &local[i - first];

		my->stream = sim_stream_new();
		my->in = calloc(COUNT, sizeof(*my->in));
		my->out = calloc(COUNT, sizeof(*my->out));
		for (int k = 0; k < COUNT; k++)
			my->in[k] = (size - i) * k;
		OK(ncclAllReduce(my->in, my->out, COUNT, INT32, SUM, my->comm,
				 my->stream));
	}
	OK(ncclGroupEnd());
	for (int i = first; i < end; i++) {
		struct local *my = &local[i - first];

		sim_stream_sync(my->stream);
		for (int k = 0; k < COUNT; k++)
			IS(my->out[k] == size * (size + 1) / 2 * k);
	}
	/* The ends of the row tell each other something, and leave. */
	OK(ncclGroupStart());
	for (int i = first; i < end; i++) {
		struct local *my = &local[i - first];

		OK(ncclSend(my->in, COUNT, INT32, i, my->comm, my->stream));
		OK(ncclRecv(my->out, COUNT, INT32, i, my->comm, my->stream));
	}
	OK(ncclGroupEnd());
	for (int i = first; i < end; i++) {
		struct local *my = &local[i - first];

		sim_stream_sync(my->stream);
		for (int k = 0; k < COUNT; k++)
			IS(my->out[k] == (i + 1) * k);
		OK(ncclCommDestroy(my->comm));
		sim_stream_free(my->stream);
		free(my->in);
		free(my->out);
	}
}

static void case_uneven(void **state)
{
	(void)state;
	run_all(3, -1, body_uneven);
}

/* Each process is a host of its own, so that all goes over TCP. */
static void body_hosts(int p, int n, const id_t128 *id)
{
	char host[16];

	snprintf(host, sizeof(host), "host %d", p);
	setenv("GTOPO_HOSTID", host, 1);
	body_uneven(p, n, id);
}

static void case_hosts(void **state)
{
	(void)state;
	run_all(3, -1, body_hosts);
}

static int victim;

/* Those that are left go on without the one that is gone. */
static void body_goes_on(int p, int n, const id_t128 *id)
{
	int32_t in = 1, out = 0;
	void *comm, *child;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	if (p == victim)
		die();
	ncclAllReduce(&in, &out, 1, INT32, SUM, comm, NULL);
	OK(ncclCommShrink(comm, &victim, 1, &child, NULL, 1));
	sim_stream_sync(NULL);
	meet(child, n - 1);
	OK(ncclCommDestroy(child));
	OK(ncclCommDestroy(comm));
}

static void case_goes_on(void **state)
{
	(void)state;
	for (victim = 0; victim < 3; victim++)
		run_all(3, victim, body_goes_on);
}

enum { CIRCLE = 100 };

/*
 * Each two processes have a communicator, and each process begins with another
 * one: a call that waited for the other process's would stand still.
 */
static void body_circle(int p, int n, const id_t128 *id)
{
	void *comm, *pairs[3], *streams[3];
	int32_t in[3], out[3][CIRCLE];

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	for (int c = 0; c < n; c++) {
		OK(ncclCommSplit(comm, p == c || p == (c + 1) % n ? 0 : -1, p,
				 &pairs[c], NULL));
		streams[c] = sim_stream_new();
		in[c] = p + 10 * c;
	}
	for (int i = 0; i < CIRCLE * n; i++)
		if (pairs[(p + i) % n])
			OK(ncclAllReduce(&in[(p + i) % n],
					 &out[(p + i) % n][i / n], 1, INT32,
					 SUM, pairs[(p + i) % n],
					 streams[(p + i) % n]));
	for (int c = 0; c < n; c++) {
		sim_stream_free(streams[c]);
		for (int i = 0; pairs[c] && i < CIRCLE; i++)
			IS(out[c][i] == c + (c + 1) % n + 20 * c);
		OK(ncclCommDestroy(pairs[c]));
	}
	OK(ncclCommDestroy(comm));
}

static void case_circle(void **state)
{
	(void)state;
	run_all(3, -1, body_circle);
}

enum { GOINGS = 3, ROUNDS = 3 };

/* One of a process's communicators, which goes on in a thread of its own. */
struct going {
	void *comm, *child, *stream;
	int32_t value; /* which tells the members of one from another's */
	int device, left;
	pthread_t thread;
};

static void going_meet(const struct going *going)
{
	int32_t in = going->value, out = 0;

	OK(ncclAllReduce(&in, &out, 1, INT32, SUM, going->child,
			 going->stream));
	sim_stream_sync(going->stream);
	IS(out == going->value * going->left);
}

static void *going_main(void *arg)
{
	struct going *going = arg;

	sim_use_device(going->device);
	OK(ncclCommShrink(going->comm, &victim, 1, &going->child, NULL, 1));
	going_meet(going);
	return NULL;
}

/*
 * Three communicators of all but the last process.  Those that have been shrunk
 * have their first one's door; the one that has been split off has its own.
 */
static void goings_make(struct going *goings, int p, int n, void *comm)
{
	int last = n - 1;

	OK(ncclCommShrink(comm, &last, 1, &goings[0].comm, NULL, 0));
	OK(ncclCommShrink(comm, &last, 1, &goings[1].comm, NULL, 0));
	OK(ncclCommSplit(goings[0].comm, 0, p, &goings[2].comm, NULL));
	for (int i = 0; i < GOINGS; i++) {
		/* One stream would keep another order in each process. */
		goings[i].stream = sim_stream_new();
		goings[i].device = p;
		goings[i].left = n - 2;
		goings[i].value = 1 + 100 * i;
		meet(goings[i].comm, last);
	}
}

/*
 * The same process dies in all communicators, and they shrink at once, in each
 * process in another order.
 */
static void body_many_go_on(int p, int n, const id_t128 *id)
{
	struct going goings[GOINGS];
	void *comm;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	if (p < n - 1)
		goings_make(goings, p, n, comm);
	/* Who is left out stays until nobody needs its communicator. */
	gate(n);
	if (p == n - 1) {
		OK(ncclCommAbort(comm));
		return;
	}
	if (p == victim)
		die();
	for (int i = 0; i < GOINGS; i++) {
		struct going *going = &goings[(i + p) % GOINGS];

		IS(!pthread_create(&going->thread, NULL, going_main, going));
		usleep((useconds_t)(p * 2000));
	}
	for (int i = 0; i < GOINGS; i++)
		IS(!pthread_join(goings[i].thread, NULL));
	for (int i = 0; i < GOINGS * ROUNDS; i++)
		going_meet(&goings[i % GOINGS]);
	for (int i = 0; i < GOINGS; i++) {
		OK(ncclCommDestroy(goings[i].child));
		OK(ncclCommDestroy(goings[i].comm));
		sim_stream_free(goings[i].stream);
	}
	OK(ncclCommAbort(comm));
}

static void case_many_go_on(void **state)
{
	(void)state;
	for (victim = 0; victim < 3; victim++)
		run_all(4, victim, body_many_go_on);
}

/* 0: it has no communicator that the parent's shrink has made, and says so. */
static int child_refuses(void *comm, void *shrunk)
{
	int32_t in = 1, out = 0;
	void *again;
	int none = -1, bad;

	bad = ncclAllReduce(&in, &out, 1, INT32, SUM, shrunk, NULL) != USAGE;
	bad |= !strstr(ncclGetLastError(NULL), "none survives a fork()");
	bad |= ncclCommShrink(shrunk, &none, 0, &again, NULL, 1) != USAGE;
	bad |= ncclCommDestroy(shrunk) != USAGE;
	bad |= ncclCommAbort(comm) != USAGE;
	return bad;
}

/* What goes on is the parent's alone, also when a child ends before it. */
static void body_forks_behind_shrink(int p, int n, const id_t128 *id)
{
	void *comm, *shrunk;
	int status;
	pid_t child;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	if (p == victim)
		die();
	OK(ncclCommShrink(comm, &victim, 1, &shrunk, NULL, 1));
	meet(shrunk, n - 1);
	child = fork();
	if (!child) {
		alarm(CHILD_S);
		_exit(child_refuses(comm, shrunk));
	}
	IS(waitpid(child, &status, 0) == child && !status);
	for (int i = 0; i < ROUNDS; i++)
		meet(shrunk, n - 1);
	OK(ncclCommDestroy(shrunk));
	OK(ncclCommDestroy(comm));
}

static void case_forks_behind_shrink(void **state)
{
	(void)state;
	for (victim = 0; victim < 3; victim++)
		run_all(3, victim, body_forks_behind_shrink);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_uneven),
		cmocka_unit_test(case_hosts),
		cmocka_unit_test(case_circle),
		cmocka_unit_test(case_goes_on),
		cmocka_unit_test(case_many_go_on),
		cmocka_unit_test(case_forks_behind_shrink),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
