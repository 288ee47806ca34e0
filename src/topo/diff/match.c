/*
 * Finds the match of two servers, as match.h describes it: the exact one where
 * they are wired alike, else the cheapest one of the trees, improved by swaps
 * where NVLinks leave the tree.
 */
#include "topo/diff/match.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/diff/matcher.h"
#include "topo/diff/repair.h"
#include "topo/diff/swaps.h"

/* Returns whether a server has links from GPU to GPU. */
static int gt_match_direct(const struct gt_device_tree *tree)
{
	for (uint32_t i = 1; i < gt_device_tree_ndevices(tree); i++) {
		const struct gt_device *dev = gt_device_tree_device(tree, i);

		for (uint32_t k = 0; k < dev->nlinks; k++)
			if (dev->links[k].to && dev->links[k].to != i)
				return 1;
	}
	return 0;
}

/* The best match so far. */
struct gt_match_best {
	uint32_t *image, *back;
	int price;
};

/* Keeps the match if it is better than the best one, then undoes it. */
static void gt_match_keep(struct gt_matcher *m, struct gt_match_best *best)
{
	int price = gt_match_total(m);

	if (price < best->price) {
		best->price = price;
		memcpy(best->image, m->image, m->na * sizeof(*m->image));
		memcpy(best->back, m->back, m->nb * sizeof(*m->back));
	}
	memset(m->image, 0xff, m->na * sizeof(*m->image));
	memset(m->back, 0xff, m->nb * sizeof(*m->back));
}

/* Matches devices that have one name. */
static void gt_match_by_name(struct gt_matcher *m)
{
	for (uint32_t x = 0; x < m->na; x++)
		for (uint32_t y = 0; y < m->nb; y++) {
			const struct gt_device *a = gt_device_a(m, x);
			const struct gt_device *b = gt_device_b(m, y);

			if (m->back[y] != GT_UNMATCHED || a->kind != b->kind ||
			    strcmp(a->name, b->name))
				continue;
			m->image[x] = y;
			m->back[y] = x;
			break;
		}
	gt_match_moved(m);
}

/* Tries all ways to match; the match is left in the matcher. */
static void gt_match_try_all(struct gt_matcher *m, struct gt_match_best *best)
{
	int changes = gt_match_repair(m);

	if (changes >= 0) {
		gt_match_moved(m);
		gt_match_keep(m, best);
	}
	if (changes < 0 || changes > 1) {
		gt_match_by_name(m);
		gt_match_keep(m, best);
		gt_match_pair(m, 0, 0);
		gt_match_moved(m);
		if (!m->failed && changes < 0 && gt_match_direct(m->a) &&
		    gt_match_search(m))
			m->failed = 1;
		gt_match_keep(m, best);
	}
	memcpy(m->image, best->image, m->na * sizeof(*m->image));
	memcpy(m->back, best->back, m->nb * sizeof(*m->back));
}

static int gt_match_alike(struct gt_matcher *m)
{
	struct gt_match_best best = {.price = INT_MAX};

	m->costs = calloc((size_t)m->na * m->nb, sizeof(*m->costs));
	best.image = calloc((size_t)m->na + m->nb, sizeof(*best.image));
	if (m->costs && best.image) {
		best.back = best.image + m->na;
		gt_match_try_all(m, &best);
	} else {
		m->failed = 1;
	}
	free(m->costs);
	free(best.image);
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
	int same = 0;

	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	if (m.na == m.nb && gt_device_tree_hash(a) == gt_device_tree_hash(b))
		same = gt_match_isomorphic(a, b, match);
	if (same)
		return same < 0 ? gt_err_nomem(err) : GT_OK;
	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	return gt_match_alike(&m) ? gt_err_nomem(err) : GT_OK;
}
