/* The monotonic clock, which no correction of the date moves. */
#include "base/clock.h"

#include <time.h>

enum { GT_CLOCK_SECOND_NS = 1000000000 };

int64_t gt_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * GT_CLOCK_SECOND_NS + now.tv_nsec;
}

struct timespec gt_clock_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / GT_CLOCK_SECOND_NS,
				 .tv_nsec = ns % GT_CLOCK_SECOND_NS};
}
