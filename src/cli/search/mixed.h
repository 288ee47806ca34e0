/*
 * What a plan of GPUs, of which only some reach each other, is worth on engines
 * that go through the host's memory as soon as two do not
 * (docs/design/engine-gpu-staged.md).
 */
#ifndef GT_CLI_SEARCH_MIXED_H
#define GT_CLI_SEARCH_MIXED_H

struct gt_cmd_args;
struct gt_planner_request;
struct gt_planner_result;
struct gt_topo;

/*
 * Warn that a plan is for engines, or of one with islands, with what a search
 * for engines reaches; nothing is said where all of the plan's GPUs, or none of
 * them, have access.  The topology's GPUs are apart afterwards.
 */
void gt_search_tell_mixed(const struct gt_cmd_args *args,
			  const struct gt_planner_request *request,
			  const struct gt_planner_result *result,
			  struct gt_topo *topo);

#endif
