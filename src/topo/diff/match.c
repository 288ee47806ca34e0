/*
 * Finds the match of two servers, as match.h describes it: the exact one where
 * they are wired alike, else the cheapest one of the trees, improved by swaps
 * where NVLinks leave the tree.
 */
#include "topo/diff/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/diff/matcher.h"
#include "topo/diff/swaps.h"

/* Beyond this many devices a match need not be the best, but takes no hours. */
enum { GT_MATCH_MAX_DEVS = 512 };

/* Returns whether a server has links from GPU to GPU. */
static int gt_match_direct(const struct gt_device_tree *tree)
{
	for (uint32_t i = 1; i < gt_device_tree_ndevices(tree); i++)
		for (uint32_t k = 0; k < gt_device_tree_device(tree, i)->nlinks;
		     k++)
			if (gt_device_tree_device(tree, i)->links[k].to)
				return 1;
	return 0;
}

static int gt_match_alike(struct gt_matcher *m)
{
	m->costs = calloc((size_t)m->na * m->nb, sizeof(*m->costs));
	if (!m->costs)
		return GT_ESYS;
	gt_match_pair(m, 0, 0);
	gt_match_moved(m);
	if (!m->failed && m->na <= GT_MATCH_MAX_DEVS && gt_match_direct(m->a) &&
	    gt_match_search(m))
		m->failed = 1;
	free(m->costs);
	return m->failed ? GT_ESYS : GT_OK;
}

int gt_match_find(const struct gt_device_tree *a,
		  const struct gt_device_tree *b, struct gt_match *match,
		  struct gt_err *err)
{
	struct gt_matcher m = {
		.a = a,
		.b = b,
		.na = gt_device_tree_ndevices(a),
		.nb = gt_device_tree_ndevices(b),
		.image = match->image,
		.back = match->back,
	};

	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	if (m.na == m.nb && gt_device_tree_hash(a) == gt_device_tree_hash(b) &&
	    gt_match_isomorphic(a, b, match))
		return GT_OK;
	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	return gt_match_alike(&m) ? gt_err_nomem(err) : GT_OK;
}
