/*
 * The options by which users of lint and health leave out rules and say how bad
 * a finding must be for the exit status to be 1.
 */
#ifndef GT_CLI_LINT_CHOICE_H
#define GT_CLI_LINT_CHOICE_H

#include "topo/lint/finding.h"

struct gt_err;

#define GT_LINT_FAIL_ON_WORDS "error|warning|never"

/* The order is that of the words. */
enum gt_lint_fail_on {
	GT_LINT_FAIL_ON_ERROR,
	GT_LINT_FAIL_ON_WARNING,
	GT_LINT_FAIL_ON_NEVER,
};

/* Words that a list may have beside the names of rules; name() has n of them */
struct gt_lint_words {
	int n;
	const char *(*name)(int i);
	/* Is told of each that the list has. */
	void (*take)(int i, void *arg);
	void *arg;
};

/*
 * Set ignored[rule] for each rule of "acs,iommu"; NULL is no list, and `others`
 * may be NULL.  GT_EINPUT for a word that is neither a rule nor one of those.
 */
int gt_lint_ignore(const char *list, const struct gt_lint_words *others,
		   char ignored[GT_NLINTRULES], struct gt_err *err);

/* Returns whether findings are so bad that the command is to fail. */
int gt_lint_fails(const struct gt_lint *lint, enum gt_lint_fail_on fail_on);

#endif
