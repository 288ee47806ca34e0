/*
 * Finds what is wrong with a topology file: what NCCL would reject, what it
 * would silently take for something else, what looks degraded or impossible.
 * lint.def lists all of it.
 *
 * NCCL's reader is no XML parser, so one half of this reads the bytes as that
 * reader does; the other half looks at the elements.
 */
#ifndef GT_TOPO_LINT_LINT_H
#define GT_TOPO_LINT_LINT_H

#include <stddef.h>

#include "topo/lint/finding.h"

struct gt_arena;
struct gt_buf;
struct gt_err;

/*
 * Look at a file ("-": standard input), or at text.  What is wrong with it is
 * a finding, not an error: GT_EINPUT only when it cannot be opened.
 */
int gt_lint_file(const char *path, struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err);
int gt_lint_text(const char *name, const char *text, size_t len,
		 struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err);

/*
 * Write the text with all repairs made that need no knowledge of the machine.
 */
void gt_lint_fix(const struct gt_lint *lint, struct gt_buf *out);

/* Leave out the findings of rules that are not 0 in `ignored`. */
void gt_lint_leave_out(struct gt_lint *lint, const char ignored[GT_NLINTRULES]);

/* Order findings by severity, the worst first, then as they stand. */
void gt_lint_sort(struct gt_lint *lint);

/* Returns the worst severity of all findings, or -1 when there are none. */
int gt_lint_worst(const struct gt_lint *lint);

#endif
