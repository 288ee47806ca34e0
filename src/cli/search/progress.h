/* A line on the terminal that says how far a search is, while it takes long. */
#ifndef GT_CLI_SEARCH_PROGRESS_H
#define GT_CLI_SEARCH_PROGRESS_H

#include <stdint.h>

struct gt_budget;

struct gt_progress {
	int64_t next_ns; /* when to write again */
	int shown;
};

/* Have the watch write to standard error, if that is a terminal. */
void gt_progress_start(struct gt_progress *progress, struct gt_budget *budget);

/* Take the line away. */
void gt_progress_end(const struct gt_progress *progress);

#endif
