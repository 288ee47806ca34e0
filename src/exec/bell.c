#include "exec/bell.h"

#include <limits.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

void gt_bell_wake(struct gt_bell *bell)
{
	syscall(SYS_futex, &bell->rings, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
		NULL, 0);
}

void gt_bell_wait(struct gt_bell *bell, uint32_t seen, long timeout_ns)
{
	struct timespec timeout = {0, timeout_ns};

	atomic_store(&bell->asleep, 1);
	syscall(SYS_futex, &bell->rings, FUTEX_WAIT_PRIVATE, seen, &timeout,
		NULL, 0);
	atomic_store(&bell->asleep, 0);
}
