/*
 * Reads which GPUs are not to reach each other.
 */
#include "exec/peer_access.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { GT_PEER_DIGITS = 6 }; /* of a rank, at most */

static int gt_peer_words_wrong(const char *words, const char *at,
			       const char *where, struct gt_err *err)
{
	return gt_err_set(err, GT_EINPUT, where,
			  "'%.80s' makes no sense from character %zu on: "
			  "'off' or pairs of ranks such as 0-1,2-3",
			  words, (size_t)(at - words) + 1);
}

/* Read a rank and leave *at behind it; 0: there is none. */
static int gt_peer_read_rank(const char **at, uint32_t *rank)
{
	const char *begin = *at;

	*rank = 0;
	for (; isdigit((unsigned char)**at) && *at - begin < GT_PEER_DIGITS;
	     (*at)++)
		*rank = *rank * 10 + (uint32_t)(**at - '0');
	return *at > begin;
}

/* Read a pair and what ends it, and leave *at behind; 0: it is no pair. */
static int gt_peer_read_pair(const char **at, struct gt_peer_pair *pair)
{
	if (!gt_peer_read_rank(at, &pair->a) || **at != '-')
		return 0;
	++*at;
	if (!gt_peer_read_rank(at, &pair->b) || pair->a == pair->b)
		return 0;
	if (!**at)
		return 1;
	if (**at != ',')
		return 0;
	++*at;
	return **at != '\0';
}

int gt_peer_access_off(const char *words, const char *where, uint32_t n,
		       struct gt_peer_pair *pair, struct gt_err *err)
{
	int has_all = !strcmp(where, GT_PEER_ACCESS_OPTION), found = 0;
	struct gt_peer_pair next;
	const char *at = words;

	if (!words || !*words)
		return 0;
	if (!strcmp(words, "off")) {
		if (n > 1)
			*pair = (struct gt_peer_pair){0, 1};
		return n > 1;
	}
	while (*at) {
		if (!gt_peer_read_pair(&at, &next))
			return gt_peer_words_wrong(words, at, where, err);
		if (next.a < n && next.b < n) {
			if (!found)
				*pair = next;
			found = 1;
		} else if (has_all) {
			return gt_err_set(err, GT_EINPUT, where,
					  "'%.80s' names rank %u, but there "
					  "are ranks 0 to %u only",
					  words, next.a < n ? next.b : next.a,
					  n - 1);
		}
	}
	return found;
}
