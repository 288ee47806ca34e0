/*
 * Reads which GPUs are not to reach each other.
 */
#include "exec/peer_access.h"

#include <string.h>

#include "base/err.h"
#include "base/pairs.h"

int gt_peer_access_off(const char *words, const char *where, uint32_t n,
		       struct gt_pair *pair, struct gt_err *err)
{
	struct gt_pairs pairs = {words, where, "ranks", words};
	int has_all = !strcmp(where, GT_PEER_ACCESS_OPTION), found = 0, rc;
	struct gt_pair next;

	if (!words)
		return 0;
	if (gt_pairs_are_all(words)) {
		if (n > 1)
			*pair = (struct gt_pair){0, 1};
		return n > 1;
	}
	while ((rc = gt_pairs_next(&pairs, &next, err)) > 0) {
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
	return rc < 0 ? rc : found;
}
