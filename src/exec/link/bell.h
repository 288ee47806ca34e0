/*
 * A bell lets a thread that has nothing to do sleep until another one has done
 * something for it, without a lock and without a lost wake-up:
 *
 *   waiter  seen = look -> poll everything -> nothing: asleep = 1 -> sleep
 *           unless rings != seen
 *   ringer  post (release) -> rings++ -> wake if asleep
 *
 * Increment and flag are sequentially consistent: either the ringer sees the
 * flag and wakes, or the kernel sees the increment and does not let the
 * waiter sleep.  Several threads may ring; one waits.
 *
 * A bell may lie in memory that several processes map.  One whose owner
 * sleeps in poll() rather than here has a descriptor to be written to; it is
 * rung within its own process only.
 */
#ifndef GT_EXEC_LINK_BELL_H
#define GT_EXEC_LINK_BELL_H

#include <stdatomic.h>
#include <stdint.h>

struct gt_bell {
	_Alignas(64) _Atomic uint32_t rings;
	_Atomic uint32_t asleep;
	int poll_fd; /* an eventfd, or 0: none */
};

static inline uint32_t gt_bell_look(struct gt_bell *bell)
{
	return atomic_load_explicit(&bell->rings, memory_order_acquire);
}

void gt_bell_wake(struct gt_bell *bell);

static inline void gt_bell_ring(struct gt_bell *bell)
{
	atomic_fetch_add(&bell->rings, 1);
	if (atomic_load(&bell->asleep))
		gt_bell_wake(bell);
}

/*
 * Sleep until somebody rings after `seen` was looked at, or until the time is
 * over.
 */
void gt_bell_wait(struct gt_bell *bell, uint32_t seen, long timeout_ns);

#endif
