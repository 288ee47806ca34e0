/*
 * Blocks that spin on a GPU keep other programs' work off it, and more of them
 * are soon of no use: for each row, the fewest that are nearly as fast.
 */
#ifndef GT_CLI_TUNE_KNEE_H
#define GT_CLI_TUNE_KNEE_H

struct gt_err;
struct gt_tuning;

/*
 * Measure the rows that the sweep has made, and that move much, with fewer and
 * fewer blocks, and put the fewest that will do, and their times, into the
 * sweep's plan.  Rows with a detour, which have no limit, are left alone.
 */
int gt_tune_knees(struct gt_tuning *t, struct gt_err *err);

#endif
