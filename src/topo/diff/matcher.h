/*
 * A match of two servers while it is being found, and its price: what differs
 * between devices that are matched, devices that are lost or elsewhere, and
 * links more or less.
 */
#ifndef GT_TOPO_DIFF_MATCHER_H
#define GT_TOPO_DIFF_MATCHER_H

#include <stdint.h>

#include "topo/diff/device_tree.h"

/* Prices. */
enum {
	/* the unit of prices; below it, names decide between equals */
	GT_MATCH_UNIT = 1024,
	GT_MATCH_LOST = 32 * GT_MATCH_UNIT, /* for a device without a match */
	GT_MATCH_MOVED = 8 * GT_MATCH_UNIT, /* for a device that is elsewhere */
	GT_MATCH_LINK = 2 * GT_MATCH_UNIT,  /* for an NVLink more or less */
};

/* Beyond this much work, a second or less, a match need not be the best. */
enum { GT_MATCH_WORK = 100000000 };

struct gt_matcher {
	const struct gt_device_tree *a, *b;
	uint32_t na, nb;
	uint32_t *image, *back;
	/* [x * nb + y]: the price of both subtrees plus 1, or 0: unknown */
	int *costs;
	/* what was done: pairs, devices and links that were looked at */
	uint64_t work;
	int failed;
};

static inline const struct gt_device *gt_device_a(const struct gt_matcher *m,
						  uint32_t x)
{
	return gt_device_tree_device(m->a, x);
}

static inline const struct gt_device *gt_device_b(const struct gt_matcher *m,
						  uint32_t y)
{
	return gt_device_tree_device(m->b, y);
}

/* Match x with y, and all below them at the least price. */
void gt_match_pair(struct gt_matcher *m, uint32_t x, uint32_t y);

/* Undo the match of a's x and all below it, and of b's y likewise. */
void gt_match_remove(struct gt_matcher *m, uint32_t x, uint32_t y);

/* Returns the price of all that differs as it is matched now. */
int gt_match_total(struct gt_matcher *m);

/* Match devices that are left over on both sides and are equal. */
void gt_match_moved(struct gt_matcher *m);

#endif
