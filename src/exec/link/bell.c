/*
 * Sleeping and waking, by a futex or by the descriptor of whoever sleeps in
 * poll().
 */
#include "exec/link/bell.h"

#include <limits.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

/*
 * The futex is not of the private kind, as the other thread may be another
 * process's.
 */
void gt_bell_wake(struct gt_bell *bell)
{
	uint64_t one = 1;

	if (bell->poll_fd) {
		/* A full eventfd has woken its owner already. */
		if (write(bell->poll_fd, &one, sizeof(one)) < 0)
			return;
		return;
	}
	syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gt_bell_wait(struct gt_bell *bell, uint32_t seen, long timeout_ns)
{
	struct timespec timeout = {0, timeout_ns};

	atomic_store(&bell->asleep, 1);
	syscall(SYS_futex, &bell->rings, FUTEX_WAIT, seen, &timeout, NULL, 0);
	atomic_store(&bell->asleep, 0);
}
