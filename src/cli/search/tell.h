/*
 * This is what `gtopo search` says on standard error of the plan that it found.
 */
#ifndef GT_CLI_SEARCH_TELL_H
#define GT_CLI_SEARCH_TELL_H

struct gt_cmd_args;
struct gt_err;
struct gt_planner;

/* Notes: what the plan reaches, what is proved of it, what it took. */
void gt_search_tell(const struct gt_cmd_args *args,
		    const struct gt_planner *planner);

/*
 * Warn of what it costs to have planned with what all nodes have; nothing is
 * said unless the planner has homogenized the cluster.
 */
int gt_search_tell_loss(const struct gt_cmd_args *args,
			const struct gt_planner *planner, struct gt_err *err);

#endif
