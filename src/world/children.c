/* The parent of a job on this host waits for its processes. */
#include "world/children.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

enum {
	/*
	 * A loaded machine needs so much on top of the limit; and the kernel
	 * gets so long to end a process that was killed.
	 */
	GT_CHILDREN_GRACE_NS = 2000000000,
	/* So many processes are named, which leaves room for the words. */
	GT_CHILDREN_NAMED = 8,
};

/* The longest time limit that counts after a failure. */
static const int64_t gt_children_most_ns = 30000000000;

/* How the waiting stands. */
struct gt_children_watch {
	struct gt_children *job;
	sigset_t signals;
	uint32_t left;
	int worst;       /* the highest status */
	uint32_t nright; /* that have exited with 0 */
	int ntold;       /* signals that were passed on */
	int nkills;
	int64_t deadline_ns; /* INT64_MAX while none has failed */
};

static void gt_children_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGCHLD);
}

void gt_children_block(struct gt_children *job)
{
	/* Whoever has us ignore it would have our children vanish unseen. */
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t signals;

	sigemptyset(&action.sa_mask);
	gt_children_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &job->old_mask);
	sigaction(SIGCHLD, &action, &job->old_sigchld);
}

void gt_children_unblock(const struct gt_children *job)
{
	sigaction(SIGCHLD, &job->old_sigchld, NULL);
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
}

void gt_children_tell(const struct gt_children *job, int number)
{
	for (uint32_t r = 0; r < job->size; r++)
		if (job->children[r].fate == GT_CHILD_RUNS)
			kill(job->children[r].pid, number);
}

/* Kill all that still run, and give the kernel some time to do so. */
static void gt_children_kill(struct gt_children_watch *watch)
{
	gt_children_tell(watch->job, SIGKILL);
	watch->nkills++;
	watch->deadline_ns = gt_clock_ns() + GT_CHILDREN_GRACE_NS;
}

/* How long the others may take to end after the first failure. */
static int64_t gt_children_limit_ns(const struct gt_children *job)
{
	int64_t limit_ns = job->limit_ns < gt_children_most_ns
				   ? job->limit_ns
				   : gt_children_most_ns;

	return limit_ns + GT_CHILDREN_GRACE_NS;
}

/*
 * Does the end of a process with this status end the job?  Where others go on,
 * not that of one that they have left behind.
 */
static int gt_children_ends(const struct gt_children *job, int status)
{
	return job->goes_on
		       ? WIFEXITED(status) && WEXITSTATUS(status) != -GT_ESYS
		       : status != 0;
}

static void gt_children_note(struct gt_children_watch *watch,
			     struct gt_child *child, int status)
{
	watch->left--;
	child->fate = GT_CHILD_ENDED;
	if (WIFSIGNALED(status)) {
		child->number = WTERMSIG(status);
		child->fate = watch->nkills && child->number == SIGKILL
				      ? GT_CHILD_KILLED
				      : GT_CHILD_DIED;
	} else if (WEXITSTATUS(status) > watch->worst) {
		watch->worst = WEXITSTATUS(status);
	}
	watch->nright += !status;
	if (gt_children_ends(watch->job, status) &&
	    watch->deadline_ns == INT64_MAX)
		watch->deadline_ns =
			gt_clock_ns() + gt_children_limit_ns(watch->job);
}

static void gt_children_reap(struct gt_children_watch *watch)
{
	int status;

	for (uint32_t r = 0; r < watch->job->size; r++) {
		struct gt_child *child = &watch->job->children[r];

		if (child->fate == GT_CHILD_RUNS &&
		    waitpid(child->pid, &status, WNOHANG) == child->pid)
			gt_children_note(watch, child, status);
	}
}

/*
 * The second signal kills.  The first is passed on, unless the terminal has
 * sent it to all of its foreground's processes.
 */
static void gt_children_interrupt(struct gt_children_watch *watch,
				  const siginfo_t *info)
{
	if (watch->ntold++)
		gt_children_kill(watch);
	else if (info->si_code != SI_KERNEL)
		gt_children_tell(watch->job, info->si_signo);
}

/* Wait until a child ends, a signal comes, or the deadline. */
static void gt_children_sleep(struct gt_children_watch *watch)
{
	int forever = watch->deadline_ns == INT64_MAX;
	int64_t most_ns = forever ? 0 : watch->deadline_ns - gt_clock_ns();
	struct timespec most;
	siginfo_t info;
	int number;

	if (most_ns < 0)
		return;
	most = gt_clock_timespec(most_ns);
	number = sigtimedwait(&watch->signals, &info, forever ? NULL : &most);
	if (number == SIGINT || number == SIGTERM)
		gt_children_interrupt(watch, &info);
}

/* Name the processes of one fate after `lead`, where there are any. */
static void gt_children_name(const struct gt_children *job,
			     enum gt_child_fate fate, const char *lead,
			     char *text, size_t size)
{
	size_t at = strlen(text);
	uint32_t n = 0;

	for (uint32_t r = 0; r < job->size && at < size; r++) {
		const struct gt_child *child = &job->children[r];

		if (child->fate != fate || n++ >= GT_CHILDREN_NAMED)
			continue;
		at += (size_t)snprintf(text + at, size - at,
				       "%s%sprocess %u (pid %d",
				       n > 1 ? ", "
				       : at  ? "; "
					     : "",
				       n > 1 ? "" : lead, r, (int)child->pid);
		if (fate == GT_CHILD_DIED && at < size)
			at += (size_t)snprintf(text + at, size - at,
					       ", signal %d", child->number);
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, ")");
	}
	if (n > GT_CHILDREN_NAMED && at < size)
		snprintf(text + at, size - at, " and %u more",
			 n - GT_CHILDREN_NAMED);
}

static int gt_children_verdict(const struct gt_children_watch *watch,
			       struct gt_err *err)
{
	char text[sizeof(err->text)] = "", late[64];

	if (watch->job->goes_on && watch->nright &&
	    (!watch->worst || watch->worst == -GT_ESYS))
		return GT_OK;
	snprintf(late, sizeof(late), "killed, %.1f s after the first failure: ",
		 (double)gt_children_limit_ns(watch->job) / 1e9);
	gt_children_name(watch->job, GT_CHILD_DIED, "ended by a signal: ", text,
			 sizeof(text));
	gt_children_name(watch->job, GT_CHILD_KILLED,
			 watch->ntold > 1 ? "killed at the second signal: "
					  : late,
			 text, sizeof(text));
	gt_children_name(watch->job, GT_CHILD_RUNS,
			 "killed, and still there: ", text, sizeof(text));
	if (text[0])
		return gt_err_set(err, GT_ESYS, NULL, "%s", text);
	return watch->worst > -GT_ESYS ? GT_ESYS : -watch->worst;
}

int gt_children_wait(struct gt_children *job, struct gt_err *err)
{
	struct gt_children_watch watch = {
		.job = job, .left = job->size, .deadline_ns = INT64_MAX};

	gt_children_signals(&watch.signals);
	for (;;) {
		gt_children_reap(&watch);
		if (!watch.left)
			break;
		if (gt_clock_ns() < watch.deadline_ns)
			gt_children_sleep(&watch);
		else if (!watch.nkills)
			gt_children_kill(&watch);
		else
			break;
	}
	return gt_children_verdict(&watch, err);
}
