/*
 * What the ranks of a node get through its switch and into the network
 * together, whichever of them drive and whichever way they take.
 */
#ifndef GT_SEARCH_MULTICAST_EXITS_H
#define GT_SEARCH_MULTICAST_EXITS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_multicast_site;

struct gt_multicast_exits {
	struct gt_rat bound;
	uint32_t nterms;       /* the bound's divisor: 1 + ranks limited so */
	unsigned char *is_own; /* by rank: its own links limit it */
	uint32_t *links;       /* which all ways out of the others cross */
	uint32_t nlinks;
};

/*
 * Find the least bound of a domain of several.  own[] is by rank what its leaf
 * carries either way; `down`: about ways from the network.  Memory is the
 * site's.
 */
int gt_multicast_exits_find(const struct gt_multicast_site *site,
			    uint32_t domain, const struct gt_rat *own, int down,
			    struct gt_multicast_exits *exits,
			    struct gt_err *err);

#endif
