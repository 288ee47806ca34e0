#include "search/problem/budget.h"

#include <stddef.h>

#include "base/clock.h"

int gt_budget_is_spent(const struct gt_budget *watch)
{
	return watch && watch->deadline_ns &&
	       gt_clock_ns() >= watch->deadline_ns;
}

void gt_budget_report(const struct gt_budget *watch, const char *what,
		      uint32_t round, double value_gbs)
{
	if (watch && watch->tell)
		watch->tell(watch->arg, what, round, value_gbs);
}
