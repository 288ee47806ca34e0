/* Processes that meet, and what happens to the others when one does not. */
#include "unit/job.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/auth.h"
#include "world/listener.h"
#include "world/net.h"
#include "world/world.h"

static int part_meet(struct gt_world *world, struct gt_err *err)
{
	struct gt_world_part parts[JOB_MOST];
	uint32_t size = gt_world_size(world), mine;
	uint64_t sum, most;
	int rc = 0;

	for (uint32_t turn = 0; !rc && turn < 50; turn++) {
		mine = turn * 1000 + gt_world_rank(world);
		rc = gt_world_allgather(
			world, &mine, turn % 3 ? sizeof(mine) : 0, parts, err);
		for (uint32_t r = 0; !rc && r < size; r++) {
			mine = turn * 1000 + r;
			if (parts[r].len != (turn % 3 ? sizeof(mine) : 0) ||
			    memcmp(parts[r].bytes, &mine, parts[r].len))
				rc = gt_err_set(err, GT_ENO, NULL, "wrong");
		}
		sum = gt_world_rank(world);
		most = gt_world_rank(world);
		if (!rc)
			rc = gt_world_sum(world, &sum, err);
		if (!rc)
			rc = gt_world_max(world, &most, err);
		if (!rc && (sum != size * (size - 1) / 2 || most != size - 1))
			rc = gt_err_set(err, GT_ENO, NULL, "wrong number");
	}
	return rc;
}

static void test_all_hear_all(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 16};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		job_all_end(sizes[i], 20000000000, part_meet, 0);
}

/* Large parts: more than a socket's buffers hold. */
static int part_large(struct gt_world *world, struct gt_err *err)
{
	struct gt_world_part parts[JOB_MOST];
	size_t len = GT_WORLD_PART_MOST_BYTES;
	char *mine = malloc(len);
	int rc;

	if (!mine)
		return gt_err_nomem(err);
	memset(mine, (int)gt_world_rank(world) + 1, len);
	rc = gt_world_allgather(world, mine, len, parts, err);
	for (uint32_t r = 0; !rc && r < gt_world_size(world); r++)
		if (parts[r].len != len ||
		    ((const char *)parts[r].bytes)[len - 1] != (char)(r + 1))
			rc = gt_err_set(err, GT_ENO, NULL, "wrong");
	if (!rc &&
	    gt_world_allgather(world, mine, len + 1, NULL, NULL) != GT_EINPUT)
		rc = gt_err_set(err, GT_ENO, NULL, "too much was taken");
	free(mine);
	return rc;
}

static void test_large_parts(void **state)
{
	(void)state;
	job_all_end(4, 20000000000, part_large, 0);
}

/* Two are there, and heard, but do not come to a meeting: they are named. */
static int part_no_meeting(struct gt_world *world, struct gt_err *err)
{
	static const char missing[] = "process 1 (p1), process 2 (p2) came to "
				      "no meeting for ";
	int rc = GT_OK;

	if (!gt_world_rank(world) &&
	    (!gt_world_allgather(world, NULL, 0, NULL, err) ||
	     !strstr(err->text, missing)))
		rc = GT_ENO;
	job_gate(job_now);
	return rc;
}

static void test_no_meeting(void **state)
{
	(void)state;
	job_all_end(3, 5000000000, part_no_meeting, 0);
}

/* Where a process has no standard input its first socket is 0. */
static void test_listener_at_0(void **state)
{
	struct gt_listener listener;
	struct gt_secret secret;
	int input = dup(0);

	(void)state;
	assert_int_equal(
		gt_secret_set(&secret, "a secret for tests only", NULL), 0);
	close(0);
	assert_int_equal(socket(AF_INET, SOCK_STREAM, 0), 0);
	gt_listener_init(&listener, 0, &secret);
	gt_listener_close(&listener);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (input >= 0)
		dup2(input, 0);
	close(input);
}

/* Two have a reason of their own; whoever has none gets one of theirs. */
static int part_agree(struct gt_world *world, struct gt_err *err)
{
	uint32_t rank = gt_world_rank(world);
	char words[64];
	int rc = gt_world_agree(world, GT_OK, err);

	if (rc)
		return GT_ENO;
	if (rank % 2)
		rc = gt_err_set(err, GT_EINPUT, NULL, "%u is odd", rank);
	rc = gt_world_agree(world, rc, err);
	gt_world_abort(world, "it is over");
	snprintf(words, sizeof(words), "%s%u is odd",
		 rank % 2 ? "" : "process 1 (p1): ", rank % 2 ? rank : 1);
	return strcmp(err->text, words) ? GT_ENO : rc;
}

static void test_agree(void **state)
{
	(void)state;
	for (int turn = 0; turn < 20; turn++)
		job_all_end(5, 20000000000, part_agree, -GT_EINPUT);
}

/* The last process ends in its own way, the others wait for it. */
static uint32_t culprit;
static int how;

static int part_fault(struct gt_world *world, struct gt_err *err)
{
	char name[32];
	int rc = gt_world_allgather(world, NULL, 0, NULL, err);

	if (!rc && gt_world_rank(world) == culprit) {
		if (how)
			raise(how);
		else
			gt_world_abort(world, "had enough");
	}
	if (!rc)
		rc = gt_world_allgather(world, NULL, 0, NULL, err);
	snprintf(name, sizeof(name), "process %u (p%u)", culprit, culprit);
	return rc == GT_ESYS && strstr(err->text, name) ? rc : GT_ENO;
}

/* One leaves as if all was over, and the others have something to tell. */
static int part_leave(struct gt_world *world, struct gt_err *err)
{
	char name[32];
	int rc = gt_world_allgather(world, NULL, 0, NULL, err);

	if (rc || gt_world_rank(world) == culprit)
		return rc;
	rc = gt_world_allgather(world, NULL, 0, NULL, err);
	snprintf(name, sizeof(name), "process %u (p%u) has left", culprit,
		 culprit);
	return rc == GT_ESYS && strstr(err->text, name) ? rc : GT_ENO;
}

static void test_left(void **state)
{
	struct job job;

	(void)state;
	for (culprit = 0; culprit < 3; culprit += 2) {
		job_prepare(&job, 3, 40000000000, "127.0.0.1");
		job_start(&job, part_leave);
		job_wait(&job);
		for (uint32_t r = 0; r < job.size; r++)
			assert_int_equal(job.status[r],
					 r == culprit ? 0 : -GT_ESYS);
		assert_true(job.took_ns < 20000000000);
	}
}

/* What cannot be opened closes what it was given, and nothing else. */
static void test_no_files(void **state)
{
	struct rlimit limit, none;
	struct gt_world *world;
	struct job job;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	job_prepare(&job, 2, 1000000000, "127.0.0.1");
	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	none = limit;
	none.rlim_cur = 0;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	assert_int_equal(gt_world_open(&job.config, &world, &err), GT_ESYS);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
	assert_non_null(strstr(err.text, "'ulimit -n' allows"));
	assert_int_equal(fcntl(job.config.listen_fd, F_GETFD), -1);
	assert_int_not_equal(fcntl(0, F_GETFD), -1);
}

/* Process 0 has no room for its thread; descriptors stay as they are. */
static int open_without_room(struct job *job)
{
	long pages = 0;
	struct rlimit limit;
	struct gt_world *world;
	struct gt_err err;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld", &pages) != 1)
		return 1;
	fclose(file);
	gt_err_init(&err);
	if (getrlimit(RLIMIT_AS, &limit))
		return 1;
	limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE));
	/* A thread's stack alone is several times as large. */
	limit.rlim_cur += 1 << 18;
	if (setrlimit(RLIMIT_AS, &limit))
		return 2;
	if (gt_world_open(&job->config, &world, &err) != GT_ESYS)
		return 3;
	return fcntl(0, F_GETFD) == -1 ? 4 : 0;
}

static void test_no_thread(void **state)
{
	struct job job;
	int status;
	pid_t pid;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("# a sanitizer needs memory of its own\n");
	skip();
#endif
	job_prepare(&job, 2, 1000000000, "127.0.0.1");
	pid = fork();
	if (!pid)
		_exit(open_without_room(&job));
	close(job.config.listen_fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static _Atomic int job_is_over;

static void *end_job(void *arg)
{
	struct timespec nap = {0, 200000000};

	(void)arg;
	nanosleep(&nap, NULL);
	atomic_store(&job_is_over, 1);
	return NULL;
}

/* Nobody is there, or somebody who says nothing: until the job has ended. */
static void test_knock_no_longer(void **state)
{
	const struct gt_auth_answer answer = {.kind = GT_CONNECTION_DATA};
	struct gt_net_deadline patience = {.stop = &job_is_over};
	int64_t begin_ns = gt_clock_ns();
	struct job job;
	pthread_t thread;
	int fd;

	(void)state;
	job_prepare(&job, 2, 1000000000, "127.0.0.1");
	patience.deadline_ns = begin_ns + 60000000000;
	for (int silent = 1; silent >= 0; silent--) {
		atomic_store(&job_is_over, 0);
		assert_false(pthread_create(&thread, NULL, end_job, NULL));
		assert_int_equal(gt_listener_connect(&job.config.address,
						     &job.config.secret,
						     &answer, &patience, &fd,
						     NULL),
				 GT_ESYS);
		assert_int_equal(atomic_load(&job_is_over), 1);
		pthread_join(thread, NULL);
		if (silent)
			close(job.config.listen_fd);
	}
	assert_true(gt_clock_ns() - begin_ns < 30000000000);
}

/* Who declines does not wait for process 0, which is gone, for an hour. */
static void test_decline_to_nobody(void **state)
{
	struct job job;
	int status;
	pid_t pid;

	(void)state;
	job_prepare(&job, 2, INT64_C(3600000000000), "127.0.0.1");
	close(job.config.listen_fd);
	job.config.listen_fd = -1;
	job.config.rank = 1;
	pid = fork();
	if (!pid) {
		alarm(60);
		gt_world_decline(&job.config, "no memory");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/*
 * Whom somebody else, who has the port, lets not in until the limit is over
 * does not knock on after that, to decline.
 */
static void test_no_longer_than_the_limit(void **state)
{
	int64_t begin_ns, limit_ns = 3000000000;
	struct gt_world *world;
	struct gt_err err;
	struct job job;

	(void)state;
	job_prepare(&job, 2, limit_ns, "127.0.0.1");
	job.config.rank = 1;
	gt_err_init(&err);
	begin_ns = gt_clock_ns();
	assert_int_equal(gt_world_open(&job.config, &world, &err), GT_ESYS);
	assert_true(gt_clock_ns() - begin_ns < limit_ns + limit_ns / 2);
	assert_non_null(strstr(err.text, "lets us not in"));
	close(job.config.listen_fd);
}

static void nobody_enters(void *arg, struct gt_wire *wire,
			  const struct gt_auth_answer *answer)
{
	(void)arg;
	(void)wire;
	(void)answer;
	fail_msg("nobody has answered");
}

/* Without files whoever waits outside waits; nobody is kept busy by it. */
static void test_door_without_files(void **state)
{
	static struct pollfd polls[GT_LISTENER_PENDING_MAX + 1];
	static struct gt_listener door;
	struct rlimit old, none;
	struct job job;
	int fd;

	(void)state;
	job_prepare(&job, 2, 1000000000, "127.0.0.1");
	gt_listener_init(&door, job.config.listen_fd, &job.config.secret);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_return_code(connect(fd, (void *)&job.config.address.storage,
				   job.config.address.len),
			   errno);
	assert_int_equal(poll(polls, gt_listener_polls(&door, polls), 5000), 1);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &old), errno);
	none = (struct rlimit){0, old.rlim_max};
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	gt_listener_serve(&door, nobody_enters, NULL);
	assert_int_equal(gt_listener_polls(&door, polls), 1);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &old), errno);
	assert_int_equal(poll(polls, 1, 0), 0);
	while (!poll(polls, gt_listener_polls(&door, polls), 10))
		;
	gt_listener_serve(&door, nobody_enters, NULL);
	assert_int_equal(door.npending, 1);
	gt_listener_close(&door);
	close(fd);
}

/*
 * Silence shows after three quarters of the limit, which has to be more than
 * what a busy machine keeps a process waiting; all else shows at once.
 */
#define TEST_SECOND_NS 1000000000ll
enum { TEST_LATE_S = 20 };

static void job_fault(uint32_t who, int what, int expect)
{
	struct job job;

	culprit = who;
	how = what;
	job_prepare(&job, 4, (what == SIGSTOP ? 6 : 40) * TEST_SECOND_NS,
		    "127.0.0.1");
	job_start(&job, part_fault);
	if (what == SIGSTOP) {
		/* The others end while it is stopped. */
		for (uint32_t r = 0; r < job.size; r++)
			if (r != who)
				waitpid(job.pids[r], &job.status[r], 0);
		assert_true(gt_clock_ns() - job.took_ns <
			    TEST_LATE_S * TEST_SECOND_NS);
		kill(job.pids[who], SIGKILL);
		waitpid(job.pids[who], NULL, 0);
		for (uint32_t r = 0; r < job.size; r++)
			if (r != who)
				assert_int_equal(WEXITSTATUS(job.status[r]), 3);
		return;
	}
	job_wait(&job);
	for (uint32_t r = 0; r < job.size; r++)
		assert_int_equal(job.status[r], r == who ? expect : 3);
	assert_true(job.took_ns < TEST_LATE_S * TEST_SECOND_NS);
}

static void test_killed(void **state)
{
	(void)state;
	job_fault(2, SIGKILL, 128 + SIGKILL);
	job_fault(0, SIGKILL, 128 + SIGKILL);
}

static void test_stopped(void **state)
{
	(void)state;
	job_fault(3, SIGSTOP, 0);
	job_fault(0, SIGSTOP, 0);
}

static void test_gave_up(void **state)
{
	(void)state;
	job_fault(1, 0, 3);
	job_fault(0, 0, 3);
}

static void test_one_never_comes(void **state)
{
	struct job job;

	(void)state;
	job_prepare(&job, 3, 1000000000, "127.0.0.1");
	job.size = 2;
	job_start(&job, part_meet);
	job_wait(&job);
	assert_int_equal(job.status[0], 3);
	assert_int_equal(job.status[1], 3);
	assert_true(job.took_ns < TEST_LATE_S * TEST_SECOND_NS);
}

static int stranger_connect(const struct job *job)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)&job->config.address.storage,
		    job->config.address.len)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Silent ones, garbage, a flood, and one with the wrong secret. */
static void strangers(const struct job *job)
{
	struct gt_auth_answer answer = {.kind = htonl(1),
					.rank = htonl(1),
					.size = htonl(job->config.size)};
	struct gt_auth_greeting greeting;
	struct gt_secret wrong;
	char garbage[4096];
	int fds[600];

	memset(garbage, 'x', sizeof(garbage));
	gt_secret_set(&wrong, "another secret, as long", NULL);
	for (int i = 0; i < 600; i++) {
		fds[i] = stranger_connect(job);
		if (fds[i] < 0)
			continue;
		if (i % 3 == 1)
			send(fds[i], garbage, sizeof(garbage), MSG_NOSIGNAL);
		if (i % 50 == 2 &&
		    recv(fds[i], &greeting, sizeof(greeting), MSG_WAITALL) ==
			    (ssize_t)sizeof(greeting)) {
			gt_auth_answer(&wrong, &greeting, &answer);
			send(fds[i], &answer, sizeof(answer), MSG_NOSIGNAL);
		}
	}
	for (int i = 0; i < 600; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void test_strangers_change_nothing(void **state)
{
	struct job job;
	pid_t stranger;

	(void)state;
	job_prepare(&job, 4, 20000000000, "127.0.0.1");
	stranger = fork();
	if (!stranger) {
		close(job.config.listen_fd);
		strangers(&job);
		_exit(0);
	}
	job_start(&job, part_meet);
	job_wait(&job);
	waitpid(stranger, NULL, 0);
	for (uint32_t r = 0; r < job.size; r++)
		assert_int_equal(job.status[r], 0);
}

/* A process with another secret comes in nowhere, and is told so. */
static void test_wrong_secret(void **state)
{
	struct job job;
	struct gt_world *world;
	struct gt_err err;

	(void)state;
	job_prepare(&job, 2, 1000000000, "127.0.0.1");
	job.size = 1;
	job_start(&job, part_meet);
	gt_err_init(&err);
	job.config.rank = 1;
	gt_secret_set(&job.config.secret, "another secret, as long", NULL);
	assert_int_equal(gt_world_open(&job.config, &world, &err), GT_ESYS);
	job_wait(&job);
	assert_int_equal(job.status[0], 3);
}

/* What another process says cannot write on the terminal but letters. */
static int part_escape(struct gt_world *world, struct gt_err *err)
{
	const char *bad = "\033]0;title\a and \302\233 but \303\274";
	const char *good = "process 1 (p1): ?]0;title? and \302? but \303\274";
	int rc = 0;

	if (gt_world_rank(world) == 1)
		rc = gt_err_set(err, GT_EINPUT, NULL, "%s", bad);
	rc = gt_world_agree(world, rc, err);
	if (gt_world_rank(world) != 1 && strcmp(err->text, good))
		return GT_ENO;
	if (gt_world_rank(world) == 1)
		gt_world_abort(world, bad);
	while (!gt_world_failed(world, NULL))
		usleep(1000);
	gt_err_init(err);
	gt_world_failed(world, err);
	return strcmp(err->text, good) ? GT_ENO : rc;
}

static void test_escape(void **state)
{
	(void)state;
	job_all_end(3, 40000000000, part_escape, -GT_EINPUT);
}

static _Atomic int interrupted;

/* One is interrupted while it waits for those that do something else. */
static int part_interrupt(struct gt_world *world, struct gt_err *err)
{
	const char *why = "process 1 (p1): interrupted";
	int rc = GT_OK;

	if (gt_world_rank(world) == 1) {
		atomic_store(&interrupted, 1);
		rc = gt_world_allgather(world, NULL, 0, NULL, err);
	}
	while (!rc && !(rc = gt_world_failed(world, err)))
		usleep(1000);
	return strcmp(err->text, why) ? GT_ENO : rc;
}

/* The port that was the job's may be another program's by now. */
static void listen_anew(struct job *job)
{
	assert_int_equal(
		gt_net_resolve("127.0.0.1", 0, &job->config.address, NULL), 0);
	assert_int_equal(gt_net_listen(&job->config.address,
				       &job->config.listen_fd, NULL),
			 0);
}

static void test_interrupt(void **state)
{
	struct gt_world *world;
	struct gt_err err;
	struct job job;

	(void)state;
	job_prepare(&job, 3, 40 * TEST_SECOND_NS, "127.0.0.1");
	job.config.interrupt = &interrupted;
	job_start(&job, part_interrupt);
	job_wait(&job);
	for (uint32_t r = 0; r < job.size; r++)
		assert_int_equal(job.status[r], 3);
	assert_true(job.took_ns < TEST_LATE_S * TEST_SECOND_NS);
	/* Nobody listens any more, or nobody comes. */
	atomic_store(&interrupted, 1);
	for (job.config.rank = 0; job.config.rank < 2; job.config.rank++) {
		if (!job.config.rank)
			listen_anew(&job);
		gt_err_init(&err);
		job.took_ns = gt_clock_ns();
		assert_int_equal(gt_world_open(&job.config, &world, &err),
				 GT_ESYS);
		assert_non_null(strstr(err.text, "interrupted"));
		assert_true(gt_clock_ns() - job.took_ns <
			    TEST_LATE_S * TEST_SECOND_NS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* No thread has left its stack yet. */
		cmocka_unit_test(test_no_thread),
		cmocka_unit_test(test_all_hear_all),
		cmocka_unit_test(test_large_parts),
		cmocka_unit_test(test_listener_at_0),
		cmocka_unit_test(test_no_meeting),
		cmocka_unit_test(test_agree),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_gave_up),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_knock_no_longer),
		cmocka_unit_test(test_decline_to_nobody),
		cmocka_unit_test(test_no_longer_than_the_limit),
		cmocka_unit_test(test_door_without_files),
		cmocka_unit_test(test_one_never_comes),
		cmocka_unit_test(test_strangers_change_nothing),
		cmocka_unit_test(test_wrong_secret),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
