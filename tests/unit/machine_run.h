/*
 * A plan carried out by the host engine, apart from the search: both have a
 * struct gt_request.
 */
#ifndef GT_TESTS_UNIT_MACHINE_RUN_H
#define GT_TESTS_UNIT_MACHINE_RUN_H

struct gt_plan;

/* Run the plan's collective once on ranks of the host; all must be right. */
void machine_run(const struct gt_plan *plan);

#endif
