/*
 * A job for tests: forked processes that find each other as a world, each do
 * the same part, and exit with its code.
 */
#ifndef GT_TESTS_UNIT_JOB_H
#define GT_TESTS_UNIT_JOB_H

#include "unit/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/auth.h"
#include "world/net.h"
#include "world/world.h"

enum { JOB_MOST = 16 };

struct job {
	struct gt_world_config config;
	uint32_t size;
	_Atomic uint32_t *arrivals; /* at gates; shared by the processes */
	uint32_t gates;             /* that this process has come to */
	pid_t pids[JOB_MOST];
	int status[JOB_MOST]; /* of a signal: 128 and its number */
	int64_t took_ns;
};

/* 0 or a negative enum gt_code; what failed goes to standard error. */
typedef int job_part(struct gt_world *world, struct gt_err *err);

/* The one that runs, for its parts. */
static struct job *job_now;

/*
 * Waits until all processes have come.  A meeting of the world does not do
 * that: who leaves it first may end the world while others are still in it,
 * and then it has failed for these.
 */
static inline void job_gate(struct job *job)
{
	uint32_t wanted = ++job->gates * job->size;

	atomic_fetch_add(job->arrivals, 1);
	while (atomic_load(job->arrivals) < wanted)
		usleep(200);
}

static inline void job_prepare(struct job *job, uint32_t size,
			       int64_t timeout_ns, const char *address)
{
	memset(job, 0, sizeof(*job));
	job->arrivals =
		mmap(NULL, sizeof(*job->arrivals), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(job->arrivals != MAP_FAILED);
	job->size = size;
	job->config.size = size;
	job->config.timeout_ns = timeout_ns;
	assert_int_equal(gt_secret_set(&job->config.secret,
				       "a secret for tests only", NULL),
			 0);
	assert_int_equal(gt_net_resolve(address, 0, &job->config.address, NULL),
			 0);
	if (gt_net_listen(&job->config.address, &job->config.listen_fd, NULL)) {
		/* A machine without IPv6. */
		assert_int_equal(gt_net_resolve("127.0.0.1", 0,
						&job->config.address, NULL),
				 0);
		assert_int_equal(gt_net_listen(&job->config.address,
					       &job->config.listen_fd, NULL),
				 0);
	}
}

static inline void job_child(struct job *job, uint32_t rank, job_part *part)
{
	struct gt_world *world;
	struct gt_err err;
	int rc;

	alarm(120); /* of tests that hang; a busy machine takes its time */
	gt_err_init(&err);
	job->config.rank = rank;
	snprintf(job->config.name, sizeof(job->config.name), "p%u", rank);
	if (rank)
		close(job->config.listen_fd);
	rc = gt_world_open(&job->config, &world, &err);
	job_gate(job);
	if (!rc) {
		rc = part(world, &err);
		gt_world_close(world);
	}
	if (rc)
		fprintf(stderr, "# %u: %s\n", rank, err.text);
	_exit(-rc);
}

static inline void job_start(struct job *job, job_part *part)
{
	fflush(NULL);
	job_now = job;
	for (uint32_t r = 0; r < job->size; r++) {
		job->pids[r] = fork();
		assert_true(job->pids[r] >= 0);
		if (!job->pids[r])
			job_child(job, r, part);
	}
	close(job->config.listen_fd);
	job->took_ns = gt_clock_ns();
}

static inline void job_wait(struct job *job)
{
	int status;

	for (uint32_t r = 0; r < job->size; r++) {
		assert_int_equal(waitpid(job->pids[r], &status, 0),
				 job->pids[r]);
		job->status[r] = WIFEXITED(status) ? WEXITSTATUS(status)
						   : 128 + WTERMSIG(status);
	}
	job->took_ns = gt_clock_ns() - job->took_ns;
	munmap(job->arrivals, sizeof(*job->arrivals));
}

/* All processes of a job end with that status. */
static inline void job_all_end(uint32_t size, int64_t timeout_ns,
			       job_part *part, int status)
{
	struct job job;

	job_prepare(&job, size, timeout_ns, "127.0.0.1");
	job_start(&job, part);
	job_wait(&job);
	for (uint32_t r = 0; r < size; r++)
		assert_int_equal(job.status[r], status);
}

#endif
