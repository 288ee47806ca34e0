/*
 * A plan that a test of the search has made is carried out by the host engine.
 */
#ifndef GT_TESTS_UNIT_SEARCH_MACHINE_RUN_H
#define GT_TESTS_UNIT_SEARCH_MACHINE_RUN_H

struct gt_plan;

/* Run the plan's collective once on ranks of the host; all must be right. */
void machine_run(const struct gt_plan *plan);

#endif
