/*
 * A job on this host without a launcher: the parent forks all processes, passes
 * signals on to them and waits for their ends.
 */
#include "world/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "world/children.h"

static int gt_fork_prepare(uint32_t size, struct gt_world_config *config,
			   struct gt_err *err)
{
	int rc;

	config->size = size;
	config->listen_fd = -1;
	rc = gt_world_check_files(config, err);
	if (!rc)
		rc = gt_secret_make(&config->secret, err);
	if (!rc)
		rc = gt_net_resolve("127.0.0.1", 0, &config->address, err);
	if (!rc)
		rc = gt_net_listen(&config->address, &config->listen_fd, err);
	return rc;
}

/*
 * A child's first steps: it dies with its parent, and learns which process it
 * is.
 */
static void gt_fork_begin(uint32_t rank, pid_t parent,
			  struct gt_world_config *config)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before that. */
	if (getppid() != parent)
		_exit(-GT_ESYS);
	config->rank = rank;
	config->has_parent = 1;
	gt_launcher_process_name(config->name);
	if (rank) {
		close(config->listen_fd);
		config->listen_fd = -1;
	}
}

/*
 * Fork all processes.  In each of them *rank is its number and the result
 * GT_OK; in the parent *rank is `size`.
 */
static int gt_fork_all(struct gt_children *job, uint32_t *rank,
		       struct gt_err *err)
{
	uint32_t size = job->size;

	*rank = size;
	for (uint32_t r = 0; r < size; r++) {
		pid_t pid = fork();

		if (!pid) {
			*rank = r;
			return GT_OK;
		}
		if (pid < 0) {
			job->size = r;
			return gt_err_set(err, GT_ESYS, NULL,
					  "cannot start process %u of %u: %s",
					  r, size, strerror(errno));
		}
		job->children[r].pid = pid;
	}
	return GT_OK;
}

int gt_fork_job(uint32_t size, struct gt_world_config *config, int *parent,
		struct gt_err *err)
{
	struct gt_children job = {.children =
					  calloc(size, sizeof(*job.children)),
				  .size = size,
				  .limit_ns = config->timeout_ns,
				  .goes_on = config->has_door};
	pid_t self = getpid();
	uint32_t rank;
	int rc = job.children ? gt_fork_prepare(size, config, err)
			      : gt_err_nomem(err);

	if (rc)
		goto free_children;
	fflush(NULL);
	gt_children_block(&job);
	rc = gt_fork_all(&job, &rank, err);
	*parent = rank == size;
	if (!*parent) {
		gt_children_unblock(&job);
		gt_fork_begin(rank, self, config);
		goto free_children;
	}
	close(config->listen_fd);
	config->listen_fd = -1;
	if (rc) {
		gt_children_tell(&job, SIGKILL);
		gt_children_wait(&job, NULL);
	} else {
		rc = gt_children_wait(&job, err);
	}
	gt_children_unblock(&job);
free_children:
	free(job.children);
	return rc;
}
