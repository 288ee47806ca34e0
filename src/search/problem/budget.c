#include "search/problem/budget.h"

#include <stddef.h>

#include "base/clock.h"

int gt_watch_over(const struct gt_watch *watch)
{
	return watch && watch->deadline_ns &&
	       gt_clock_ns() >= watch->deadline_ns;
}

void gt_watch_tell(const struct gt_watch *watch, const char *what,
		   uint32_t round, double value_gbs)
{
	if (watch && watch->tell)
		watch->tell(watch->arg, what, round, value_gbs);
}
