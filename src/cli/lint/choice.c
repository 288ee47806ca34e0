/* Reads lists of rules, and tells whether findings are bad enough to fail. */
#include "cli/lint/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/common/opt.h"
#include "topo/lint/lint.h"

enum { GT_LINT_WORD_SIZE = 64 };

/* Returns the i-th name of all, first those of the rules. */
static const char *gt_lint_word(int i, const void *arg)
{
	const struct gt_lint_words *others = arg;

	return i < GT_NLINTRULES ? gt_lint_rule_name((enum gt_lint_rule)i)
				 : others->name(i - GT_NLINTRULES);
}

static int gt_lint_unknown(const char *word, const struct gt_lint_words *others,
			   struct gt_err *err)
{
	int n = GT_NLINTRULES + (others ? others->n : 0);
	const char *near = gt_opt_nearest(word, n, gt_lint_word, others);
	char some[256] = "";
	size_t len = strcspn(word, "-");

	if (near)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--ignore '%s' is no rule; did you mean "
				  "'%s'?",
				  word, near);
	/* Those that begin alike are near, too: "nvlink-lost". */
	for (int i = 0; i < n; i++) {
		near = gt_lint_word(i, others);
		if (strncmp(near, word, len) || !len || near[len] != '-')
			continue;
		snprintf(some + strlen(some), sizeof(some) - strlen(some),
			 "%s%s", *some ? ", " : "", near);
	}
	if (*some)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--ignore '%s' is no rule; there are %s",
				  word, some);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "--ignore '%s' is no rule; gtopo-lint(1)%s", word,
			  others ? " and gtopo-diff(1) list them"
				 : " lists them");
}

static int gt_lint_ignore_word(const char *word,
			       const struct gt_lint_words *others,
			       char ignored[GT_NLINTRULES], struct gt_err *err)
{
	int rule = gt_lint_rule_find(word), known = rule >= 0;

	if (known)
		ignored[rule] = 1;
	for (int i = 0; others && i < others->n; i++) {
		if (strcmp(others->name(i), word))
			continue;
		others->take(i, others->arg);
		known = 1;
	}
	return known ? GT_OK : gt_lint_unknown(word, others, err);
}

int gt_lint_ignore(const char *list, const struct gt_lint_words *others,
		   char ignored[GT_NLINTRULES], struct gt_err *err)
{
	char word[GT_LINT_WORD_SIZE];
	size_t len;
	int rc = GT_OK;

	for (; list && *list && !rc; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(len < 64 ? len : 63),
			 list);
		rc = gt_lint_ignore_word(word, others, ignored, err);
	}
	return rc;
}

int gt_lint_fails(const struct gt_lint *lint, enum gt_lint_fail_on fail_on)
{
	int worst = gt_lint_worst(lint);

	switch (fail_on) {
	case GT_LINT_FAIL_ON_ERROR:
		return worst >= GT_LINT_ERROR;
	case GT_LINT_FAIL_ON_WARNING:
		return worst >= GT_LINT_WARNING;
	case GT_LINT_FAIL_ON_NEVER:
		break;
	}
	return 0;
}
