/*
 * Findings of gtopo lint, as lines and as JSON.
 */
#ifndef GT_CLI_LINT_PRINT_H
#define GT_CLI_LINT_PRINT_H

struct gt_buf;
struct gt_lint;

struct gt_lint_style {
	/* Tell each finding; else a fault that repeats is told once. */
	int is_each;
	/*
	 * Begin with host and device, for there is no file; notes are left
	 * out.
	 */
	int is_machine;
	int colour; /* with a terminal's escape sequences */
};

/*
 * Append a line for each finding, "node.xml:3:7: warning: GPU0 0000:1b:00.0:
 * ..." or, of a machine, "node037 GPU0 0000:1b:00.0 (slot 3): warning: ...".
 */
void gt_lint_print(const struct gt_lint *lint, struct gt_lint_style style,
		   struct gt_buf *out);

/*
 * Append an object for each finding; `*between` goes before the first, and is
 * what goes before the next one then.
 */
void gt_lint_print_json(const struct gt_lint *lint, const char **between,
			struct gt_buf *out);

#endif
