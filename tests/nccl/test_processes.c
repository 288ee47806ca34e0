/*
 * Ranks in several processes, any number in each, that share nothing but a
 * unique id; and what the others are told when one of them is killed.
 */
#include "nccl/client.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "world/auth.h"

enum { MOST = 4, COUNT = 20000 };

struct process {
	pid_t pid;
	int door; /* the id comes through it */
};

enum { CHILD_S = 40 };

static _Atomic int *arrivals; /* at gates; all processes' */
static int gates;             /* that this process has come to */

/*
 * Waits until all of n processes have come.  An operation does not do that: one
 * that is over here may be under way elsewhere, and fails there when this
 * process dies.
 */
static void gate(int n)
{
	int wanted = ++gates * n;

	atomic_fetch_add(arrivals, 1);
	while (atomic_load(arrivals) < wanted)
		usleep(200);
}

/* What a process does, with its number, of how many. */
typedef void process_body(int p, int n, const id_t128 *id);

/* All are forked before there is a thread, and wait for the id. */
static void fork_all(struct process *all, int n, process_body *body)
{
	int ends[2];
	id_t128 id;

	fflush(NULL);
	for (int p = 0; p < n; p++) {
		IS(!pipe(ends));
		all[p].pid = fork();
		IS(all[p].pid >= 0);
		if (!all[p].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ends[1]);
			IS(read(ends[0], &id, sizeof(id)) == sizeof(id));
			body(p, n, &id);
			exit(0);
		}
		close(ends[0]);
		all[p].door = ends[1];
	}
}

/* Memory of all processes that are forked from now on. */
static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	IS(memory != MAP_FAILED);
	return memory;
}

static void die(void)
{
	kill(getpid(), SIGKILL);
}

/* How many words this process says before it dies, by this one's count. */
static _Atomic int words_left;

__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes,
						    size_t len, int flags)
{
	if (words_left && !--words_left)
		die();
	return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

/* At which of its words the process dies that makes the id; 0: at none. */
static int maker_words;

/*
 * The id is made by a process that has no rank, as servers of rendezvous do.
 * `killed` is the process that will kill itself, or -1.
 */
static void run_all(int n, int killed, process_body *body)
{
	struct process all[MOST];
	id_t128 id;
	int status;
	pid_t maker;

	arrivals = share(sizeof(*arrivals));
	fork_all(all, n, body);
	maker = fork();
	if (!maker) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		OK(ncclGetUniqueId(&id));
		words_left = maker_words;
		for (int p = 0; p < n; p++)
			IS(write(all[p].door, &id, sizeof(id)) == sizeof(id));
		pause();
	}
	for (int p = 0; p < n; p++) {
		close(all[p].door);
		IS(waitpid(all[p].pid, &status, 0) == all[p].pid);
		IS(p == killed ? WIFSIGNALED(status) : status == 0);
	}
	kill(maker, SIGKILL);
	IS(waitpid(maker, &status, 0) == maker);
	munmap((void *)arrivals, sizeof(*arrivals));
}

/* One rank a process, and one that has all that are left. */
static int first_of(int p)
{
	static const int firsts[MOST + 1] = {0, 2, 3, 6};

	return firsts[p];
}

struct local {
	void *comm, *stream;
	int32_t *in, *out;
};

static void body_uneven(int p, int n, const id_t128 *id)
{
	int first = first_of(p), end = first_of(p + 1), size = first_of(n);
	struct local local[MOST];

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

/* Everybody else is told that a rank is gone, within the time that takes. */
static void want_remote(void *comm)
{
	int state = SUCCESS;

	while (state == SUCCESS)
		OK(ncclCommGetAsyncError(comm, &state));
	IS(state == REMOTE);
	IS(strstr(ncclGetLastError(comm), "ended without a word") ||
	   strstr(ncclGetLastError(comm), "has left"));
	OK(ncclCommAbort(comm));
}

/* All ranks add up. */
static void meet(void *comm, int n)
{
	int32_t in = 1, out = 0;

	OK(ncclAllReduce(&in, &out, 1, INT32, SUM, comm, NULL));
	sim_stream_sync(NULL);
	IS(out == n);
}

static void body_dies_in_operation(int p, int n, const id_t128 *id)
{
	void *comm, *stream = sim_stream_new();
	int32_t in = 1, out = 0;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	if (p == 1)
		die();
	/* It may be known before the call, or show only behind it. */
	if (ncclAllReduce(&in, &out, 1, INT32, SUM, comm, stream))
		IS(strstr(ncclGetLastError(comm), "ncclAllReduce"));
	sim_stream_sync(stream);
	want_remote(comm);
	sim_stream_free(stream);
}

static void body_dies_idle(int p, int n, const id_t128 *id)
{
	void *comm;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	if (p == 1)
		die();
	want_remote(comm);
}

static _Atomic int *heard; /* all processes' */

/* A child that outlives its rank, as loaders of data do, has no connection. */
static void body_dies_with_child(int p, int n, const id_t128 *id)
{
	struct timespec since, now;
	void *comm;
	pid_t child;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	child = p == 1 ? fork() : -1;
	if (!child) {
		/* If nobody hears of the rank, they hear this end. */
		for (int i = 0; i < CHILD_S * 100 && !*heard; i++)
			usleep(10000);
		_exit(0);
	}
	if (p == 1)
		die();
	clock_gettime(CLOCK_MONOTONIC, &since);
	want_remote(comm);
	clock_gettime(CLOCK_MONOTONIC, &now);
	*heard = 1;
	IS(now.tv_sec - since.tv_sec < CHILD_S / 2);
}

/*
 * Wait until the process that made the id has let this one in, which it tells
 * by its proof: from then on it sees this one's end.
 */
static void await_entry(void)
{
	const unsigned proven =
		sizeof(struct gt_auth_greeting) + sizeof(struct gt_auth_proof);
	struct tcp_info info;
	socklen_t size;

	for (int fd = 0;; fd = (fd + 1) % 64) {
		memset(&info, 0, sizeof(info));
		size = sizeof(info);
		if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
		    info.tcpi_bytes_received >= proven)
			return;
		if (!fd)
			sched_yield();
	}
}

static void body_dies_in_init(int p, int n, const id_t128 *id)
{
	struct client_config config = client_config(24, 21400);
	void *comm;

	sim_use_device(p);
	config.numbers[0] = 0;
	if (p == 1) {
		/* It comes, and goes before the last one has come. */
		WANT(PROGRESS,
		     ncclCommInitRankConfig(&comm, n + 1, *id, p, &config));
		await_entry();
		die();
	}
	WANT(REMOTE, ncclCommInitRank(&comm, n + 1, *id, p));
	IS(!comm);
}

static int dies_on_its_way; /* this process */

/* What a world needs first, before anybody comes into it. */
__attribute__((visibility("default"))) int eventfd(unsigned int count,
						   int flags)
{
	if (dies_on_its_way)
		die();
	return (int)syscall(SYS_eventfd2, count, flags);
}

/* It is told where rank 0 waits, as all are, and does not come there. */
static void body_dies_on_its_way(int p, int n, const id_t128 *id)
{
	void *comm;

	sim_use_device(p);
	dies_on_its_way = p == 1;
	IS(ncclCommInitRank(&comm, n, *id, p) != SUCCESS);
	IS(!comm);
	IS(strstr(ncclGetLastError(NULL), "process 1: it has gone on its way"));
}

/* Who has made the id dies at any word: nobody waits for long, or is silent. */
static void body_maker_dies_at_a_word(int p, int n, const id_t128 *id)
{
	void *comm = NULL;

	alarm(CHILD_S);
	sim_use_device(p);
	if (ncclCommInitRank(&comm, n, *id, p)) {
		IS(!comm && *ncclGetLastError(NULL));
		return;
	}
	gate(n);
	meet(comm, n);
	OK(ncclCommDestroy(comm));
}

static id_t128 *shared_id;

/* Process 1, which has rank 1, has made the id that all use. */
static void body_maker_dies_on_its_way(int p, int n, const id_t128 *other)
{
	void *comm;

	(void)other;
	sim_use_device(p);
	if (p == 1)
		OK(ncclGetUniqueId(shared_id));
	gate(n);
	dies_on_its_way = p == 1;
	IS(ncclCommInitRank(&comm, n, *shared_id, p) != SUCCESS);
	IS(!comm);
	IS(strstr(ncclGetLastError(NULL), "process 1: it has gone on its way"));
}

static void body_dies_in_split(int p, int n, const id_t128 *id)
{
	void *comm, *child;

	sim_use_device(p);
	OK(ncclCommInitRank(&comm, n, *id, p));
	meet(comm, n);
	gate(n);
	if (p == 1)
		die();
	WANT(REMOTE, ncclCommSplit(comm, 0, p, &child, NULL));
	IS(!child);
	want_remote(comm);
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

static void case_killed_in_operation(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_in_operation);
}

static void case_killed_idle(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_idle);
}

static void case_killed_with_child(void **state)
{
	(void)state;
	heard = share(sizeof(*heard));
	run_all(3, 1, body_dies_with_child);
	munmap((void *)heard, sizeof(*heard));
}

static void case_killed_in_init(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_in_init);
}

static void case_killed_on_its_way(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_on_its_way);
}

static void case_maker_killed_on_its_way(void **state)
{
	(void)state;
	shared_id = share(sizeof(*shared_id));
	run_all(3, 1, body_maker_dies_on_its_way);
	munmap(shared_id, sizeof(*shared_id));
}

/* It greets each rank, proves itself to it and answers it: nine words. */
static void case_maker_killed_at_a_word(void **state)
{
	(void)state;
	for (maker_words = 1; maker_words <= 10; maker_words++)
		run_all(3, -1, body_maker_dies_at_a_word);
	maker_words = 0;
}

static void case_killed_in_split(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_in_split);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_uneven),
		cmocka_unit_test(case_hosts),
		cmocka_unit_test(case_killed_in_operation),
		cmocka_unit_test(case_killed_idle),
		cmocka_unit_test(case_killed_with_child),
		cmocka_unit_test(case_killed_in_init),
		cmocka_unit_test(case_killed_on_its_way),
		cmocka_unit_test(case_maker_killed_on_its_way),
		cmocka_unit_test(case_maker_killed_at_a_word),
		cmocka_unit_test(case_killed_in_split),
		cmocka_unit_test(case_goes_on),
		cmocka_unit_test(case_many_go_on),
		cmocka_unit_test(case_forks_behind_shrink),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
