/*
 * `gtopo search --explain`: the proof of a plan in words, what the plan fills,
 * and what would raise it (search/whatif/whatif.h).
 */
#ifndef GT_CLI_SEARCH_EXPLAIN_H
#define GT_CLI_SEARCH_EXPLAIN_H

struct gt_buf;
struct gt_plan;
struct gt_whatif;

/* Append the text. */
void gt_explain_print(const struct gt_plan *plan,
		      const struct gt_whatif *whatif, struct gt_buf *out);

#endif
