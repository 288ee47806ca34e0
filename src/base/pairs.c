/*
 * Reads pairs of numbers.
 */
#include "base/pairs.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

enum { GT_PAIRS_DIGITS = 6 }; /* of a number, at most */

/* Read a number and leave *at behind it; 0: there is none. */
static int gt_pairs_number(const char **at, uint32_t *number)
{
	const char *begin = *at;

	*number = 0;
	for (; isdigit((unsigned char)**at) && *at - begin < GT_PAIRS_DIGITS;
	     (*at)++)
		*number = *number * 10 + (uint32_t)(**at - '0');
	return *at > begin;
}

/* Read a pair and what ends it, and leave *at behind; 0: it is no pair. */
static int gt_pairs_pair(const char **at, struct gt_pair *pair)
{
	if (!gt_pairs_number(at, &pair->a) || **at != '-')
		return 0;
	++*at;
	if (!gt_pairs_number(at, &pair->b) || pair->a == pair->b)
		return 0;
	if (!**at)
		return 1;
	if (**at != ',')
		return 0;
	++*at;
	return **at != '\0';
}

int gt_pairs_are_all(const char *words)
{
	return !strcmp(words, "off");
}

int gt_pairs_next(struct gt_pairs *pairs, struct gt_pair *pair,
		  struct gt_err *err)
{
	if (!*pairs->rest)
		return 0;
	if (gt_pairs_pair(&pairs->rest, pair))
		return 1;
	return gt_err_set(err, GT_EINPUT, pairs->where,
			  "'%.80s' makes no sense from character %zu on: "
			  "'off' or pairs of %s such as 0-1,2-3",
			  pairs->words,
			  (size_t)(pairs->rest - pairs->words) + 1,
			  pairs->what);
}
