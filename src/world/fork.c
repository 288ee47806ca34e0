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
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* The parent's last signal; its handler can reach nothing else. */
static volatile sig_atomic_t gt_fork_signal;

static void gt_fork_on_signal(int number)
{
	gt_fork_signal = number;
}

static void gt_fork_catch(struct sigaction old[2])
{
	struct sigaction action = {.sa_handler = gt_fork_on_signal};

	sigemptyset(&action.sa_mask);
	gt_fork_signal = 0;
	sigaction(SIGINT, &action, &old[0]);
	sigaction(SIGTERM, &action, &old[1]);
}

static int gt_fork_prepare(uint32_t size, struct gt_world_config *config,
			   struct gt_err *err)
{
	int rc = gt_secret_make(&config->secret, err);

	config->size = size;
	config->listen_fd = -1;
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
static void gt_fork_child(uint32_t rank, pid_t parent,
			  struct gt_world_config *config)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before that. */
	if (getppid() != parent)
		_exit(-GT_ESYS);
	config->rank = rank;
	gt_launcher_process_name(config->name);
	if (rank) {
		close(config->listen_fd);
		config->listen_fd = -1;
	}
}

static void gt_fork_tell(const pid_t *pids, uint32_t n, int number)
{
	for (uint32_t r = 0; r < n; r++)
		if (pids[r] > 0)
			kill(pids[r], number);
}

/* Wait for all processes, and return the worst status as a code. */
static int gt_fork_wait(pid_t *pids, uint32_t n, struct gt_err *err)
{
	uint32_t left = n, dead = n;
	int status, worst = 0, number = 0, told = 0, told_code = 0;
	pid_t pid;

	while (left) {
		pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno == EINTR) {
			gt_fork_tell(pids, n,
				     told++ ? SIGKILL : (int)gt_fork_signal);
			continue;
		}
		if (pid < 0)
			break;
		for (uint32_t r = 0; r < n; r++) {
			if (pids[r] != pid)
				continue;
			pids[r] = 0;
			left--;
			if (WIFSIGNALED(status)) {
				dead = r;
				number = WTERMSIG(status);
			} else if (WEXITSTATUS(status) > worst) {
				worst = WEXITSTATUS(status);
			}
		}
	}
	told_code = worst > -GT_ESYS ? GT_ESYS : -worst;
	if (dead < n && told_code != GT_ESYS)
		return gt_err_set(err, GT_ESYS, NULL,
				  "process %u was killed by signal %d", dead,
				  number);
	return told_code;
}

int gt_fork_job(uint32_t size, struct gt_world_config *config, int *parent,
		struct gt_err *err)
{
	pid_t *pids = calloc(size, sizeof(*pids)), self = getpid();
	struct sigaction old[2];
	int rc = pids ? gt_fork_prepare(size, config, err) : gt_err_nomem(err);

	if (rc)
		goto free_pids;
	fflush(NULL);
	gt_fork_catch(old);
	for (uint32_t r = 0; r < size; r++) {
		pids[r] = fork();
		if (!pids[r]) {
			sigaction(SIGINT, &old[0], NULL);
			sigaction(SIGTERM, &old[1], NULL);
			gt_fork_child(r, self, config);
			*parent = 0;
			goto free_pids;
		}
		if (pids[r] < 0) {
			rc = gt_err_set(err, GT_ESYS, NULL,
					"cannot start process %u of %u: %s", r,
					size, strerror(errno));
			gt_fork_tell(pids, r, SIGKILL);
			size = r;
			break;
		}
	}
	close(config->listen_fd);
	config->listen_fd = -1;
	*parent = 1;
	if (rc)
		gt_fork_wait(pids, size, NULL);
	else
		rc = gt_fork_wait(pids, size, err);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
free_pids:
	free(pids);
	return rc;
}
