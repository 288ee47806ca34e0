/*
 * Lists what lint finds in a file: findings of the rules of lint.def, each with
 * its place and the device it is about, and edits that repair some of them.
 */
#ifndef GT_TOPO_LINT_FINDING_H
#define GT_TOPO_LINT_FINDING_H

#include <stddef.h>
#include <stdint.h>

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
	/*
	 * The device that the finding is about, "GPU0", "mlx5_0" or "switch",
	 * its bus id and the slot it is in; each is NULL if it is not known.
	 */
	const char *device, *bus_id, *slot;
	int is_repaired; /* by an edit */
};

/* A repair is the text that is to replace these bytes. */
struct gt_lint_edit {
	size_t at, len;
	const char *text;
};

/* The findings of a file, in its order; memory is the arena's. */
struct gt_lint {
	const char *name;
	const char *host; /* the machine's name if the file tells it, or NULL */
	const char *text;
	size_t len;
	struct gt_lint_finding *findings;
	uint32_t nfindings, findings_size;
	struct gt_lint_edit *edits;
	uint32_t nedits, edits_size;
	/* Of a cluster the files of its kinds of nodes, which are others. */
	const char **node_files;
	uint32_t nnode_files;
};

const char *gt_lint_rule_name(enum gt_lint_rule rule);
/* Returns the rule of that name, or -1. */
int gt_lint_rule_find(const char *name);
enum gt_lint_severity gt_lint_rule_severity(enum gt_lint_rule rule);
const char *gt_lint_severity_name(enum gt_lint_severity severity);

#endif
