/*
 * The table of lint's rules, made of lint.def, and the names of severities.
 */
#include "topo/lint/finding.h"

#include <string.h>

static const struct {
	const char *name;
	enum gt_lint_severity severity;
} gt_lint_rules[] = {
#define GT_LINT(id, name, severity, what) {name, GT_LINT_##severity},
#include "topo/lint/lint.def"
};

const char *gt_lint_rule_name(enum gt_lint_rule rule)
{
	return gt_lint_rules[rule].name;
}

int gt_lint_rule_find(const char *name)
{
	for (int i = 0; i < GT_NLINTRULES; i++)
		if (!strcmp(gt_lint_rules[i].name, name))
			return i;
	return -1;
}

enum gt_lint_severity gt_lint_rule_severity(enum gt_lint_rule rule)
{
	return gt_lint_rules[rule].severity;
}

const char *gt_lint_severity_name(enum gt_lint_severity severity)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[severity];
}
