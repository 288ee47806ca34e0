/*
 * The plan that takes over when ranks are gone: searched for on the plan's own
 * machine, where its file is at hand, or made of the plan itself.
 */
#ifndef GT_CLI_RUN_REPLAN_H
#define GT_CLI_RUN_REPLAN_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_plan;

/* The next plan has to do all of this. */
struct gt_run_replan_want {
	unsigned colls; /* a set of collectives */
	int invariant;  /* sums as an invariant plan's (plan/ir/plan.h) */
};

/*
 * Find a plan without the ranks r with gone[r] that does what is wanted.  It
 * has passed gt_plan_check() and gt_simulate(), is for any root, and is the
 * caller's.
 */
int gt_run_replan(const struct gt_plan *plan, const uint8_t *gone,
		  const struct gt_run_replan_want *want, struct gt_plan **out,
		  struct gt_err *err);

/* Check it, and simulate the collectives; GT_ENO where it is wrong. */
int gt_run_replan_check(struct gt_plan *plan, unsigned colls,
			struct gt_err *err);

/* Add what the plan is and what it proves, in words. */
void gt_run_replan_words(const struct gt_plan *plan, struct gt_buf *words);

#endif
