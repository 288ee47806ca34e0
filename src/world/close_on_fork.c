/*
 * A socket has a number of its own in the system (an inode), so one that was
 * closed, and whose descriptor is somebody else's by now, is not taken for it.
 */
#include "world/close_on_fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of higher descriptors children keep what they have. */
enum { GT_CLOSE_ON_FORK_MOST = 4096 };

static _Atomic int gt_close_on_fork_wanted;
static _Atomic uint64_t gt_close_on_fork_inodes[GT_CLOSE_ON_FORK_MOST];
static pthread_once_t gt_close_on_fork_once = PTHREAD_ONCE_INIT;

/* In the child, where no other thread is and nothing may be allocated. */
static void gt_close_on_fork_child(void)
{
	struct stat status;
	uint64_t inode;

	for (int fd = 0; fd < GT_CLOSE_ON_FORK_MOST; fd++) {
		inode = atomic_exchange(&gt_close_on_fork_inodes[fd], 0);
		if (inode && !fstat(fd, &status) && S_ISSOCK(status.st_mode) &&
		    status.st_ino == inode)
			close(fd);
	}
}

static void gt_close_on_fork_start(void)
{
	if (!pthread_atfork(NULL, NULL, gt_close_on_fork_child))
		atomic_store(&gt_close_on_fork_wanted, 1);
}

void gt_close_on_fork_begin(void)
{
	pthread_once(&gt_close_on_fork_once, gt_close_on_fork_start);
}

void gt_close_on_fork_mark(int fd)
{
	struct stat status;

	if (atomic_load(&gt_close_on_fork_wanted) &&
	    fd < GT_CLOSE_ON_FORK_MOST && !fstat(fd, &status))
		atomic_store(&gt_close_on_fork_inodes[fd], status.st_ino);
}
