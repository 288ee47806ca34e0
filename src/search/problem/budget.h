/*
 * Who watches a search: until when it may go on, and who wants to know how far
 * it is.  A search that is out of time returns the best it has, with the gap
 * in view.
 */
#ifndef GT_SEARCH_PROBLEM_BUDGET_H
#define GT_SEARCH_PROBLEM_BUDGET_H

#include <stdint.h>

struct gt_budget {
	int64_t deadline_ns; /* of gt_clock_ns(); 0: none */
	/* Called now and then; NULL: nobody wants to know. */
	void (*tell)(void *arg, const char *what, uint32_t round,
		     double busbw_gbs);
	void *arg;
};

/* Is it time to stop?  This and the next function take NULL for no budget. */
int gt_budget_is_spent(const struct gt_budget *budget);

/* Report that `what` is searched in its round-th round and reaches so much. */
void gt_budget_report(const struct gt_budget *budget, const char *what,
		      uint32_t round, double busbw_gbs);

#endif
