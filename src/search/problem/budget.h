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
	/*
	 * Called now and then, often with NULL for `what`: it goes on, and
	 * nothing else is new.  NULL: nobody wants to know.
	 */
	void (*tell)(void *arg, const char *what, uint32_t round,
		     double busbw_gbs);
	void *arg;
};

/*
 * Is it time to stop?  Who watches is told that the search goes on.  All these
 * functions take NULL for no budget.
 */
int gt_budget_is_spent(const struct gt_budget *budget);

/* Tell who watches that the search goes on, where it cannot stop. */
void gt_budget_go_on(const struct gt_budget *budget);

/* Report that `what` is searched in its round-th round and reaches so much. */
void gt_budget_report(const struct gt_budget *budget, const char *what,
		      uint32_t round, double busbw_gbs);

#endif
