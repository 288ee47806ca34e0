/*
 * A plan for the GPUs of a team, when the user has named none: the program
 * gtopo detects the machine and searches, and what it found is kept for the
 * next time.
 */
#ifndef GT_NCCL_PLAN_SEARCH_H
#define GT_NCCL_PLAN_SEARCH_H

struct gt_buf;
struct gt_err;
struct gt_team;

/*
 * Rank 0 appends the plan's text, which has passed its checks and has the
 * team's ranks.  GT_ENO, and why, where none is searched: GTOPO_SEARCH is 0,
 * ranks are on several hosts or share a GPU, or they are on the host and no
 * GTOPO_TOPOLOGY says what that is; and where none is found in time.
 */
int gt_plan_search(const struct gt_team *team, int on_host, int invariant,
		   struct gt_buf *text, struct gt_err *err);

#endif
