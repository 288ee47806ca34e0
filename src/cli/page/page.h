/* `gtopo page`: machines, a plan and what it reaches as one page of HTML. */
#ifndef GT_CLI_PAGE_PAGE_H
#define GT_CLI_PAGE_PAGE_H

#include <stdint.h>

struct gt_buf;
struct gt_err;

struct gt_page_query {
	const char *const *files; /* a cluster, a machine, or a fleet */
	uint32_t nfiles;
	const char *expect; /* a file that machines should be like, or NULL */
	/* Each may be NULL. */
	const char *plan, *report, *trace;
	const char *p2p; /* GPUs of a machine or cluster that are apart */
	/* Gets a line for each of several files that cannot be read, and why */
	struct gt_buf *unread;
};

/*
 * Append the page: all of it in one file that loads nothing.  GT_EINPUT when a
 * file is not what it should be.
 */
int gt_page(const struct gt_page_query *ask, struct gt_buf *out,
	    struct gt_err *err);

#endif
