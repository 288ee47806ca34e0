/* The plan that a team's collectives run by. */
#ifndef GT_NCCL_PLAN_H
#define GT_NCCL_PLAN_H

struct gt_err;
struct gt_plan;
struct gt_team;

/*
 * Rank 0 decides and all get it: the file that GTOPO_PLAN names there, or what
 * is found for the machine (plan_search.h), or a ring over the ranks in their
 * order.  All ranks call it.  *plan is the caller's.
 */
int gt_team_plan(struct gt_team *team, int on_host, struct gt_plan **plan,
		 struct gt_err *err);

#endif
