/*
 * Two plans, two reports, or one of each, row by row.  A row is a collective, a
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

struct gt_compare_side {
	const char *file;
	int is_plan;
	uint32_t ranks;
	uint32_t n;
	struct gt_compare_row *rows;
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
 * Read and match both files; memory is the arena's.  GT_EINPUT when one is
 * neither plan nor report, or they have no row in common.
 */
int gt_compare(const char *const files[2], struct gt_arena *arena,
	       struct gt_comparison *comparison, struct gt_err *err);

/* Return how many times as fast the second is: its rate over the first's. */
double gt_compare_ratio(const struct gt_compare_pair *pair);

/* Returns the geometric mean of all ratios. */
double gt_compare_mean(const struct gt_comparison *comparison);

void gt_compare_text(const struct gt_comparison *comparison,
		     struct gt_buf *out);
void gt_compare_json(const struct gt_comparison *comparison,
		     struct gt_buf *out);

#endif
