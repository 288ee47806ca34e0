/*
 * What is wrong with a topology file: what NCCL would reject, what it would
 * silently take for something else, what looks degraded or impossible.
 * lint.def lists all of it.
 *
 * NCCL's reader is no XML parser, so one half of this reads the bytes as that
 * reader does; the other half looks at the elements.
 */
#ifndef GT_TOPO_LINT_LINT_H
#define GT_TOPO_LINT_LINT_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;

enum gt_lint_severity { GT_LINT_NOTE, GT_LINT_WARNING, GT_LINT_ERROR };

enum gt_lint_rule {
#define GT_LINT(id, name, severity, what) GT_LINT_##id##_RULE,
#include "topo/lint/lint.def"
	GT_NLINTRULES
};

struct gt_lint_finding {
	enum gt_lint_rule rule;
	size_t at;         /* offset in the file, SIZE_MAX: not known */
	const char *where; /* "file:line:column" */
	const char *text;
	const char *remedy; /* or NULL */
};

/* A repair: these bytes become that text. */
struct gt_lint_edit {
	size_t at, len;
	const char *text;
};

/* A file's findings in its order; memory is the arena's. */
struct gt_lint {
	const char *name;
	const char *text;
	size_t len;
	struct gt_lint_finding *findings;
	uint32_t nfindings, findings_size;
	struct gt_lint_edit *edits;
	uint32_t nedits, edits_size;
};

/*
 * Look at a file ("-": standard input), or at text.  What is wrong with it is
 * a finding, not an error: GT_EINPUT only when it cannot be opened.
 */
int gt_lint_file(const char *path, struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err);
int gt_lint_text(const char *name, const char *text, size_t len,
		 struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err);

/* The text with all repairs made that need no knowledge of the machine. */
void gt_lint_fix(const struct gt_lint *lint, struct gt_buf *out);

/* The worst severity of all findings, or -1 when there are none. */
int gt_lint_worst(const struct gt_lint *lint);

const char *gt_lint_rule_name(enum gt_lint_rule rule);
enum gt_lint_severity gt_lint_rule_severity(enum gt_lint_rule rule);
const char *gt_lint_severity_name(enum gt_lint_severity severity);

#endif
