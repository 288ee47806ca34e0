/*
 * The parts of a page, a file each: a machine or cluster (view.c), a fleet
 * (fleet.c), a plan with what was predicted and measured (plan.c), a recorded
 * run (trace.c).  Each writes its sections to the page.
 */
#ifndef GT_CLI_PAGE_PART_H
#define GT_CLI_PAGE_PART_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_json;
struct gt_json_doc;

/* A page, as far as it is written. */
struct gt_page {
	struct gt_arena *arena;
	struct gt_buf *out;   /* the sections */
	struct gt_buf *data;  /* the scripts' data: an item for each view */
	struct gt_buf *links; /* to the sections, for the top */
	const char *p2p; /* which GPUs of what is shown are apart, or NULL */
	uint32_t nviews;
	uint32_t nsections;
	uint32_t nfindings;    /* that are more than notes */
	uint32_t ndiffer;      /* servers that are not as the others */
	struct gt_buf *unread; /* lines: which files cannot be read, and why */
};

/* A machine or cluster that is to be shown. */
struct gt_page_view {
	const char *file;
	const char *what; /* "the norm", or NULL */
	const char *plan; /* whose channels are drawn into it, or NULL */
	/* Only the picture and the findings; the rest is another view's. */
	int is_short;
	/* Findings whose devices are marked in the picture, or NULL. */
	const struct gt_json *differs;
};

/* Begin a section with its title, which may be the path of a file; end it. */
void gt_page_begin(struct gt_page *page, const char *title, int is_file);
void gt_page_end(struct gt_page *page);

/* Returns how a file is called: its path, or "standard input". */
const char *gt_page_name(const char *path);

/* Parse what a command wrote; GT_ESYS if memory ran out before. */
int gt_page_parse(const struct gt_buf *text, struct gt_json_doc **doc,
		  struct gt_err *err);

/* view.c: a machine with all that is told of it, or a cluster. */
int gt_page_view(struct gt_page *page, const struct gt_page_view *view,
		 struct gt_err *err);

/* What differs between servers. */
struct gt_page_fleet {
	const char *const *files;
	uint32_t nfiles;
	int expected;     /* the first is what the others should be */
	const char *plan; /* of the norm, or NULL */
};

/* fleet.c: the groups of servers, and a view of the norm and of the largest. */
int gt_page_fleet(struct gt_page *page, const struct gt_page_fleet *fleet,
		  struct gt_err *err);

/*
 * plan.c: set *drawn to a plan's path, or NULL, if its channels cannot be drawn
 * into machines, as those of a demand.  NULL for no plan is fine.
 */
int gt_page_plan_drawn(const char *path, const char **drawn,
		       struct gt_err *err);

/* plan.c: a verdict, and curves; one of plan and report may be NULL. */
int gt_page_plan(struct gt_page *page, const char *plan, const char *report,
		 struct gt_err *err);

/* trace.c: what each rank did when. */
int gt_page_trace(struct gt_page *page, const char *path, struct gt_err *err);

#endif
