/*
 * Findings of gtopo lint, as a line and as JSON.
 */
#ifndef GT_CLI_LINT_PRINT_H
#define GT_CLI_LINT_PRINT_H

struct gt_buf;
struct gt_lint;
struct gt_lint_finding;

/* "node.xml:3:7: warning: ...", without a line end. */
void gt_lint_print(const struct gt_lint_finding *finding, struct gt_buf *out);

/* An object; a comma before it unless it is the first. */
void gt_lint_print_json(const struct gt_lint *lint,
			const struct gt_lint_finding *finding, int first,
			struct gt_buf *out);

#endif
