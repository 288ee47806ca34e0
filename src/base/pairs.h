/*
 * Pairs of numbers as people write them: "0-1,2-3", or "off" for all pairs that
 * there are, so that every option that parts GPUs reads the same words.
 */
#ifndef GT_BASE_PAIRS_H
#define GT_BASE_PAIRS_H

#include <stdint.h>

struct gt_err;

struct gt_pair {
	uint32_t a, b;
};

/* Words on their way to be read; the caller begins with `rest` as `words`. */
struct gt_pairs {
	const char *words;
	const char *where; /* the option or variable, for messages */
	const char *what;  /* what the numbers are of: "ranks" */
	const char *rest;
};

/* Do the words stand for all pairs? */
int gt_pairs_are_all(const char *words);

/*
 * Read the next pair, of two different numbers; returns 1, 0 at the end, or
 * GT_EINPUT, naming the first character that makes no sense.
 */
int gt_pairs_next(struct gt_pairs *pairs, struct gt_pair *pair,
		  struct gt_err *err);

#endif
