/*
 * A plan's channels as arrows beside the picture of its machine.  Plan and
 * topology do not know each other, so the command that has both joins them.
 */
#ifndef GT_CLI_SHOW_PLAN_H
#define GT_CLI_SHOW_PLAN_H

struct gt_arena;
struct gt_buf;
struct gt_dot_overlay;
struct gt_err;
struct gt_topo;

/*
 * Read the plan at `path`; all of the overlay lives in the arena.  GT_EINPUT
 * when the plan cannot be read or has a device that the machine has not.
 */
int gt_show_plan_overlay(const char *path, const struct gt_topo *topo,
			 struct gt_arena *arena, struct gt_dot_overlay *overlay,
			 struct gt_err *err);

/*
 * Append JSON: for each group of that overlay an array of the ids of the links
 * that its channels use.
 */
int gt_show_plan_lanes(const char *path, struct gt_arena *arena,
		       struct gt_buf *out, struct gt_err *err);

#endif
