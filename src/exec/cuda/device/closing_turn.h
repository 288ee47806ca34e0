/*
 * To close another process's memory, or to free one's own, waits for all that
 * runs on the GPU, and what is launched meanwhile does not begin before.  Where
 * two processes do that at once, and what runs on each GPU waits for what has
 * not begun on the other, they wait for ever.  So one at a time does, of those
 * of a user that share a network namespace: of 11 runs of two communicators in
 * any order, with memory registered and deregistered, 7 stood still, and with
 * turns none of 4.
 */
#ifndef GT_EXEC_CUDA_CLOSING_TURN_H
#define GT_EXEC_CUDA_CLOSING_TURN_H

#include <stdint.h>

/* For those who go on without it then, as what they close is small. */
#define GT_CLOSING_TURN_NS INT64_C(500000000)

/*
 * Wait for the turn, so long at most: what is returned is given back by
 * gt_closing_turn_give(), if it is not below 0, when somebody else has it.  The
 * end of a process gives back its own.
 */
int gt_closing_turn_take(int64_t limit_ns);
void gt_closing_turn_give(int turn);

#endif
