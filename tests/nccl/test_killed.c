/*
 * Ranks in several processes, one of which is killed, or the one that has made
 * their unique id: what the others are told.
 */
#include "nccl/processes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "world/auth.h"

enum { CHILD_S = 40 };

/* How many words this process says before it dies, by this one's count. */
static _Atomic int words_left;

__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes,
						    size_t len, int flags)
{
	if (words_left && !--words_left)
		die();
	return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
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

static int maker_words; /* at which of them it dies that has made the id */

static void count_words(void)
{
	words_left = maker_words;
}

/* Who has made the id dies at any word: nobody waits for long, or is silent. */
static void body_maker_dies_at_a_word(int p, int n, const id_t128 *id)
{
	void *comm = NULL;

	alarm(CHILD_S);
	sim_use_device(p);
	/* All have the id before the first word. */
	gate(n);
	if (ncclCommInitRank(&comm, n, *id, p)) {
		IS(!comm && *ncclGetLastError(NULL));
		return;
	}
	meet(comm, n);
	OK(ncclCommDestroy(comm));
}

static id_t128 *shared_id;

/*
 * Process 1, which has rank 1, has made the id that all use.  Where it dies
 * before it has told rank 0, that one knows, and leaves.
 */
static void body_maker_dies_on_its_way(int p, int n, const id_t128 *other)
{
	const char *words;
	void *comm;

	(void)other;
	sim_use_device(p);
	if (p == 1)
		OK(ncclGetUniqueId(shared_id));
	gate(n);
	dies_on_its_way = p == 1;
	IS(ncclCommInitRank(&comm, n, *shared_id, p) != SUCCESS);
	IS(!comm);
	words = ncclGetLastError(NULL);
	IS(strstr(words, "process 1: it has gone on its way") ||
	   strstr(words, "that made the unique id is gone") ||
	   (p == 2 && strstr(words, "process 0 is gone")));
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
	maker_begins = count_words;
	for (maker_words = 1; maker_words <= 10; maker_words++)
		run_all(3, -1, body_maker_dies_at_a_word);
	maker_begins = NULL;
}

static void case_killed_in_split(void **state)
{
	(void)state;
	run_all(3, 1, body_dies_in_split);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_killed_in_operation),
		cmocka_unit_test(case_killed_idle),
		cmocka_unit_test(case_killed_with_child),
		cmocka_unit_test(case_killed_in_init),
		cmocka_unit_test(case_killed_on_its_way),
		cmocka_unit_test(case_maker_killed_on_its_way),
		cmocka_unit_test(case_maker_killed_at_a_word),
		cmocka_unit_test(case_killed_in_split),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
