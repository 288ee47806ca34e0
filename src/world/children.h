/*
 * The processes that a parent has forked as a job on this host: it passes
 * signals on to them, and waits for all, but not for ever.
 */
#ifndef GT_WORLD_CHILDREN_H
#define GT_WORLD_CHILDREN_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_err;

/* What becomes of a process. */
enum gt_child_fate {
	GT_CHILD_RUNS,
	GT_CHILD_ENDED, /* with a status */
	GT_CHILD_DIED,  /* of a signal, which is not the parent's SIGKILL */
	GT_CHILD_KILLED,
};

struct gt_child {
	pid_t pid;
	enum gt_child_fate fate;
	int number; /* of the signal */
};

struct gt_children {
	struct gt_child *children; /* size of them */
	uint32_t size;
	/*
	 * After one has failed the others get so long, but half a minute at
	 * most, and a little on top, before they are killed.
	 */
	int64_t limit_ns;
	/*
	 * The others go on without one that was killed: only when one has
	 * exited is it time for them, and it is enough when one exits with 0.
	 */
	int goes_on;
	sigset_t old_mask;
	struct sigaction old_sigchld;
};

/*
 * Block the signals that gt_children_wait() looks at.  It is called before the
 * first fork, so that no signal comes while nobody looks, and undone by
 * gt_children_unblock(), in each child as well.
 */
void gt_children_block(struct gt_children *job);
void gt_children_unblock(const struct gt_children *job);

/* Send a signal to all that still run. */
void gt_children_tell(const struct gt_children *job, int number);

/*
 * Wait until all have ended: GT_OK when all of them exited with 0, else the
 * code of the highest status.  err says which have died of a signal, or had to
 * be killed; a process that exits has said itself what was wrong.
 */
int gt_children_wait(struct gt_children *job, struct gt_err *err);

#endif
