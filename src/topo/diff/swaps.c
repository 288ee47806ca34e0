/*
 * A local search over swaps, for servers whose NVLinks tell devices apart that
 * the trees do not.
 */
#include "topo/diff/swaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/diff/matcher.h"
#include "topo/diff/mix.h"

enum { GT_MATCH_STARTS = 160 };

/* Returns whether the device is a GPU, or above one. */
static int gt_match_holds_gpu(const struct gt_matcher *m, uint32_t x)
{
	uint32_t end = x + gt_device_a(m, x)->ndevs;

	while (x < end && gt_device_a(m, x)->kind != GT_DEVICE_GPU)
		x++;
	return x < end;
}

/*
 * Returns whether two devices may exchange their matches: siblings that hold
 * GPUs may, and GPUs wherever they are.
 */
static int gt_match_swappable(const struct gt_matcher *m, uint32_t x1,
			      uint32_t x2)
{
	const struct gt_device *a = gt_device_a(m, x1), *b = gt_device_a(m, x2);

	return a->kind == b->kind && m->image[x1] != m->image[x2] &&
	       (a->kind == GT_DEVICE_GPU ||
		(a->parent == b->parent && gt_match_holds_gpu(m, x1)));
}

static void gt_match_swap(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	uint32_t y1 = m->image[x1], y2 = m->image[x2];

	gt_match_remove(m, x1, y1);
	gt_match_remove(m, x2, y2);
	if (y2 != GT_UNMATCHED)
		gt_match_pair(m, x1, y2);
	if (y1 != GT_UNMATCHED)
		gt_match_pair(m, x2, y1);
	gt_match_moved(m);
}

/* Returns whether the device's match is a child of the match of `up`. */
static int gt_match_in_place(const struct gt_matcher *m, uint32_t x,
			     uint32_t up)
{
	return m->image[x] != GT_UNMATCHED &&
	       gt_device_b(m, m->image[x])->parent == m->image[up];
}

static void gt_match_swap_only(struct gt_matcher *m, uint32_t x1, uint32_t x2);

/*
 * When two devices have exchanged their matches, cards and switches below them
 * exchange theirs, too.
 */
static void gt_match_follow(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	for (uint32_t i = gt_device_a(m, x1)->first; i;
	     i = gt_device_a(m, i)->next)
		for (uint32_t k = gt_device_a(m, x2)->first; k;
		     k = gt_device_a(m, k)->next) {
			if (gt_device_a(m, i)->kind == GT_DEVICE_GPU ||
			    gt_device_a(m, i)->kind !=
				    gt_device_a(m, k)->kind ||
			    !gt_match_in_place(m, i, x2) ||
			    !gt_match_in_place(m, k, x1))
				continue;
			if (gt_match_holds_gpu(m, i) ||
			    gt_match_holds_gpu(m, k))
				gt_match_swap_only(m, i, k);
			else
				gt_match_swap(m, i, k);
		}
}

/*
 * Exchanges the matches of two devices, but GPUs below them stay as they are
 * matched.
 */
static void gt_match_swap_only(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	uint32_t y1 = m->image[x1], y2 = m->image[x2];

	m->image[x1] = y2;
	m->image[x2] = y1;
	if (y2 != GT_UNMATCHED)
		m->back[y2] = x1;
	if (y1 != GT_UNMATCHED)
		m->back[y1] = x2;
	gt_match_follow(m, x1, x2);
}

struct gt_match_copy {
	uint32_t *image, *back;
};

static void gt_match_save(const struct gt_matcher *m,
			  const struct gt_match_copy *copy)
{
	memcpy(copy->image, m->image, m->na * sizeof(*copy->image));
	memcpy(copy->back, m->back, m->nb * sizeof(*copy->back));
}

static void gt_match_load(struct gt_matcher *m,
			  const struct gt_match_copy *copy)
{
	memcpy(m->image, copy->image, m->na * sizeof(*copy->image));
	memcpy(m->back, copy->back, m->nb * sizeof(*copy->back));
}

/*
 * Tries to swap two devices' matches; returns 1 when that makes less differ,
 * and else leaves everything as it was.
 */
static int gt_match_try(struct gt_matcher *m, uint32_t x1, uint32_t x2,
			const struct gt_match_copy *copy, int *best)
{
	void (*const swap[])(struct gt_matcher *, uint32_t,
			     uint32_t) = {gt_match_swap, gt_match_swap_only};
	int now;

	for (int i = 0; i < (gt_device_a(m, x1)->first ? 2 : 1); i++) {
		gt_match_save(m, copy);
		swap[i](m, x1, x2);
		now = gt_match_total(m);
		if (now < *best) {
			*best = now;
			return 1;
		}
		gt_match_load(m, copy);
	}
	return 0;
}

/*
 * Takes every swap that makes less differ, until none does; returns the price
 * of what is left.
 */
static int gt_match_improve(struct gt_matcher *m,
			    const struct gt_match_copy *copy)
{
	int best = gt_match_total(m), again = 1;

	while (again && best && !m->failed && m->work < GT_MATCH_WORK) {
		again = 0;
		for (uint32_t x1 = 1; x1 < m->na; x1++)
			for (uint32_t x2 = x1 + 1; x2 < m->na; x2++)
				if (m->work < GT_MATCH_WORK &&
				    gt_match_swappable(m, x1, x2))
					again |= gt_match_try(m, x1, x2, copy,
							      &best);
	}
	return best;
}

/*
 * Swaps siblings that look the same at random, as another start of the search.
 */
static void gt_match_perturb(struct gt_matcher *m, uint64_t *seed)
{
	for (uint32_t x1 = 1; x1 < m->na; x1++)
		for (uint32_t x2 = x1 + 1; x2 < m->na; x2++) {
			*seed = gt_hash_mix(*seed, x2);
			if (*seed & 1 && gt_match_swappable(m, x1, x2) &&
			    gt_device_a(m, x1)->parent ==
				    gt_device_a(m, x2)->parent)
				gt_match_swap(m, x1, x2);
		}
}

/*
 * Searches from several starts and keeps the best match.  Only links from GPU
 * to GPU leave the tree, so only they make this necessary.
 */
int gt_match_search(struct gt_matcher *m)
{
	size_t n = (size_t)m->na + m->nb;
	uint32_t *memory = calloc(3 * n, sizeof(*memory));
	struct gt_match_copy copy = {memory, memory + m->na};
	struct gt_match_copy top = {memory + n, memory + n + m->na};
	struct gt_match_copy tree = {memory + 2 * n, memory + 2 * n + m->na};
	uint64_t seed = 1;
	int best, now;

	if (!memory)
		return GT_ESYS;
	gt_match_save(m, &tree);
	best = gt_match_improve(m, &copy);
	gt_match_save(m, &top);
	for (int i = 0;
	     i < GT_MATCH_STARTS && !m->failed && m->work < GT_MATCH_WORK;
	     i++) {
		gt_match_load(m, &tree);
		gt_match_perturb(m, &seed);
		now = gt_match_improve(m, &copy);
		if (now < best) {
			best = now;
			gt_match_save(m, &top);
		}
	}
	gt_match_load(m, &top);
	free(memory);
	return GT_OK;
}
