/*
 * Two plans, two reports, or one of each, row by row; or the reports of two
 * jobs, phase by phase.  A row is a collective, a
 * size, a type and whether it works in place; a plan is priced, and works with
 * any type out of place.
 */
#ifndef GT_CLI_COMPARE_COMPARE_H
#define GT_CLI_COMPARE_COMPARE_H

#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;

/* What is known of one side's row; strings last as long as the comparison. */
struct gt_compare_row {
	const char *coll;
	const char *dtype; /* NULL: any */
	int inplace;
	uint64_t bytes;
	double time_us, busbw_gbs; /* above 0 */
	uint64_t wrong;            /* elements */
	int is_matched;
};

/* A phase of a job's step, or all of it. */
struct gt_compare_phase {
	const char *name;
	const char *full; /* the link that is busy longest, or NULL */
	double seconds;   /* above 0 */
	int is_matched;
};

struct gt_compare_side {
	const char *file;
	int is_plan, is_job;
	const char *engine; /* that a report's run had, or NULL */
	uint32_t ranks;
	uint32_t n;
	struct gt_compare_row *rows;
	uint32_t
		nphases; /* of a job's report; the whole step is the last two */
	struct gt_compare_phase *phases;
};

/* Rows that both sides have. */
struct gt_compare_pair {
	const struct gt_compare_row *sides[2];
};

struct gt_comparison {
	struct gt_compare_side sides[2];
	uint32_t n;
	struct gt_compare_pair *pairs; /* in the order of the first file */
};

/*
 * Read and match both files; memory is the arena's.  Jobs have no pairs.
 * GT_EINPUT when one is neither plan nor report, they have no row in common, or
 * one alone is a job's.
 */
int gt_compare(const char *const files[2], struct gt_arena *arena,
	       struct gt_comparison *comparison, struct gt_err *err);

/* Return how many times as fast the second is: its rate over the first's. */
double gt_compare_ratio(const struct gt_compare_pair *pair);

/* Returns the geometric mean of all ratios. */
double gt_compare_mean(const struct gt_comparison *comparison);

/*
 * Return what a side's times are of, "GPUs" or "CPU ranks"; NULL when the file
 * does not say.
 */
const char *gt_compare_device(const struct gt_compare_side *side);

/* job.c: read a job's report, and print two of them, phase by phase. */
struct gt_json;
int gt_compare_read_job(const struct gt_json *root, struct gt_arena *arena,
			struct gt_compare_side *side, struct gt_err *err);
void gt_compare_job_text(const struct gt_comparison *comparison,
			 struct gt_buf *out);

void gt_compare_text(const struct gt_comparison *comparison,
		     struct gt_buf *out);
void gt_compare_json(const struct gt_comparison *comparison,
		     struct gt_buf *out);

#endif
