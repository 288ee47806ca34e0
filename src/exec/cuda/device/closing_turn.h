/*
 * To close another process's memory, or to free one's own, waits for all that
 * runs on the GPU, and what is launched meanwhile does not begin before.  Where
 * two processes do that at once, and what runs on each GPU waits for what has
 * not begun on the other, they wait for ever.  So one at a time does, of those
 * of a user that share a network namespace, for what is deregistered and at the
 * end of a communicator: of 11 runs of two communicators in any order, with
 * memory registered and deregistered, 7 stood still, and with turns none of 12.
 * Memory that is made anew while a communicator works takes no turn.
 */
#ifndef GT_EXEC_CUDA_CLOSING_TURN_H
#define GT_EXEC_CUDA_CLOSING_TURN_H

#include <stdint.h>

enum {
	GT_CLOSING_TURN_BUSY = -1, /* somebody else has it */
	GT_CLOSING_TURN_NONE = -2, /* there are no turns here */
};

/*
 * For those that then go on without it: whoever has had it for so long waits
 * for something that may never come.
 */
#define GT_CLOSING_TURN_NS INT64_C(2000000000)

/*
 * Wait for the turn, so long at most.  Returns it, for gt_closing_turn_give(),
 * or one of the above.  Neither a process that has ended nor a forked child has
 * it.
 */
int gt_closing_turn_take(int64_t limit_ns);

/* Give the turn back; a value below 0 is no turn, and nothing is done. */
void gt_closing_turn_give(int turn);

#endif
