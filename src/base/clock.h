/* Monotonic time. */
#ifndef GT_BASE_CLOCK_H
#define GT_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed point; never goes back. */
int64_t gt_clock_ns(void);

#endif
