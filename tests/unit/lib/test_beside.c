/*
 * One process of a job goes, or loses its connection, while a communicator
 * beside another one begins: the others are told, and wait for no time limit.
 */
#include "unit/port.h"
#include "unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtopo.h"

enum {
	SIZE = 4,
	LIMIT_MS = 120000,
	MOST_S = 60, /* whoever waits longer waits for the limit */
	FAILED = 7,  /* unlike what a sanitizer ends with */
};

enum how { DIES, LOSES_CONNECTION };

/*
 * What happens to this process when it next makes a world's eventfd, which is
 * the child's: all have agreed on a port, and this one has not come yet.
 */
static int is_victim;
static enum how how;

/* The thread that joins the child's world: its next answer gets no proof. */
static _Thread_local int is_joining, has_answered;

int eventfd(unsigned int count, int flags)
{
	if (is_victim && how == DIES)
		raise(SIGKILL);
	is_joining = is_victim;
	is_victim = 0;
	return (int)syscall(SYS_eventfd2, count, flags);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	has_answered = is_joining;
	return sendto(fd, bytes, len, flags, NULL, 0);
}

ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	if (!has_answered)
		return recvfrom(fd, bytes, len, flags, NULL, NULL);
	has_answered = is_joining = 0;
	errno = ECONNRESET;
	return -1;
}

static struct gtopo_comm *create(const char *plan, unsigned flags,
				 struct gtopo_comm *beside)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	char words[512] = "";

	config.plan = plan;
	config.timeout_ms = LIMIT_MS;
	config.flags = flags;
	config.beside = beside;
	if (gtopo_comm_create(&config, &comm, words, sizeof(words)))
		fprintf(stderr, "# %s\n", words);
	return comm;
}

/* A sum of all ranks of the process; 0: it is right. */
static int add_up(struct gtopo_comm *comm)
{
	static int32_t in[SIZE], out[SIZE];
	int first, n, rc = GTOPO_OK;

	gtopo_comm_local(comm, &first, &n);
	for (int r = first; !rc && r < first + n; r++) {
		in[r] = r;
		rc = gtopo_allreduce(comm, r, &in[r], &out[r], 1, GTOPO_INT32,
				     GTOPO_SUM);
	}
	if (!rc)
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
	return rc || out[first] != SIZE * (SIZE - 1) / 2;
}

static int take_part(int unlucky)
{
	char path[4096];
	struct gtopo_comm *comm, *child = NULL;
	int rc = FAILED;

	gt_test_path(path, "tests/cases/plan/good/ring4/plan.json");
	comm = create(path, GTOPO_LAUNCHED, NULL);
	if (!comm || add_up(comm))
		return 2;
	is_victim = unlucky;
	child = create(path, 0, comm);
	if (child)
		rc = add_up(child);
	gtopo_comm_destroy(child);
	gtopo_comm_destroy(comm);
	return rc;
}

static void set(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* How the processes end, of which one has that. */
static void launch(int victim, enum how what, int *status)
{
	pid_t pids[SIZE];

	how = what;
	setenv("GTOPO_SECRET", "a secret for tests only", 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	set("MASTER_PORT", test_free_port());
	set("WORLD_SIZE", SIZE);
	fflush(NULL);
	for (int p = 0; p < SIZE; p++) {
		pids[p] = fork();
		assert_true(pids[p] >= 0);
		if (pids[p])
			continue;
		alarm(MOST_S);
		set("RANK", p);
		_exit(take_part(p == victim));
	}
	for (int p = 0; p < SIZE; p++) {
		assert_int_equal(waitpid(pids[p], &status[p], 0), pids[p]);
		status[p] = WIFEXITED(status[p]) ? WEXITSTATUS(status[p])
						 : 128 + WTERMSIG(status[p]);
	}
}

/* Also where it is the child's process 0, to which the others connect. */
static void test_killed(void **state)
{
	int status[SIZE];

	(void)state;
	for (int victim = 0; victim < SIZE; victim++) {
		launch(victim, DIES, status);
		for (int p = 0; p < SIZE; p++)
			assert_int_equal(status[p],
					 p == victim ? 128 + SIGKILL : FAILED);
	}
}

/* It comes again, or all fail: that depends on what process 0 has seen. */
static void test_connection_lost(void **state)
{
	int status[SIZE];

	(void)state;
	for (int victim = 1; victim < SIZE; victim++) {
		launch(victim, LOSES_CONNECTION, status);
		for (int p = 0; p < SIZE; p++)
			assert_true(!status[p] || status[p] == FAILED);
	}
}

static void test_made(void **state)
{
	int status[SIZE];

	(void)state;
	launch(-1, DIES, status);
	for (int p = 0; p < SIZE; p++)
		assert_int_equal(status[p], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_connection_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
