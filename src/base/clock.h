/* Monotonic time. */
#ifndef GT_BASE_CLOCK_H
#define GT_BASE_CLOCK_H

#include <stdint.h>

struct timespec;

/* Nanoseconds since some fixed point; never goes back. */
int64_t gt_clock_ns(void);

/*
 * Nanoseconds, 0 or more, as POSIX wants them: a time of CLOCK_MONOTONIC, or a
 * length of time.
 */
struct timespec gt_clock_timespec(int64_t ns);

#endif
