/* The clock and the report of a search's budget. */
#include "search/problem/budget.h"

#include <stddef.h>

#include "base/clock.h"

void gt_budget_go_on(const struct gt_budget *budget)
{
	if (budget && budget->tell)
		budget->tell(budget->arg, NULL, 0, 0);
}

int gt_budget_is_spent(const struct gt_budget *budget)
{
	gt_budget_go_on(budget);
	return budget && budget->deadline_ns &&
	       gt_clock_ns() >= budget->deadline_ns;
}

void gt_budget_report(const struct gt_budget *budget, const char *what,
		      uint32_t round, double busbw_gbs)
{
	if (budget && budget->tell)
		budget->tell(budget->arg, what, round, busbw_gbs);
}
