/*
 * This is what `gtopo search` says on standard error while it searches, and of
 * the plan that it found.
 */
#ifndef GT_CLI_SEARCH_TELL_H
#define GT_CLI_SEARCH_TELL_H

#include <stdint.h>

struct gt_budget;
struct gt_buf;
struct gt_cmd_args;
struct gt_err;
struct gt_plan;
struct gt_plan;
struct gt_planner;
struct gt_whatif;

/* Notes: what the plan reaches, what is proved of it, what it took. */
void gt_search_tell(const struct gt_cmd_args *args,
		    const struct gt_planner *planner);

/*
 * On a terminal and without -v: one line of a plan that went to a file, which
 * would otherwise go there without a word.
 */
void gt_search_tell_written(const struct gt_cmd_args *args,
			    const struct gt_plan *plan);

/*
 * Warn of what it costs to have planned with what all nodes have; nothing is
 * said unless the planner has homogenized the cluster.
 */
int gt_search_tell_loss(const struct gt_cmd_args *args,
			const struct gt_planner *planner, struct gt_err *err);

/* A line on the terminal that says how far a search is, while it takes long. */
struct gt_progress {
	int64_t start_ns, next_ns; /* when it began, and when to write again */
	const char *what;          /* what was told last; NULL: nothing */
	uint32_t round;
	double busbw_gbs;
	int shown;
};

/* Have the watch write to standard error, if that is a terminal. */
void gt_progress_start(struct gt_progress *progress, struct gt_budget *budget);

/* Take the line away. */
void gt_progress_end(const struct gt_progress *progress);

/*
 * `gtopo search --explain` (explain.c): append the proof of a plan in words,
 * what the plan fills, and what would raise it (search/whatif/whatif.h).
 */
void gt_explain_print(const struct gt_plan *plan,
		      const struct gt_whatif *whatif, struct gt_buf *out);

#endif
