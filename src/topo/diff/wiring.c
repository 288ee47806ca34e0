/* Makes the wiring of a device tree and refines colours on it. */
#include "topo/diff/wiring.h"

#include <stdlib.h>
#include <string.h>

#include "topo/diff/device_tree.h"
#include "topo/diff/mix.h"

static uint32_t gt_wiring_nlinks(const struct gt_device_tree *tree)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gt_device_tree_ndevices(tree); i++)
		n += gt_device_tree_device(tree, i)->nlinks;
	return n;
}

static void gt_wiring_fill(struct gt_wiring *w)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct gt_device *dev = gt_device_tree_device(w->tree, i);

		w->own[i] = dev->own;
		w->links[i] = at;
		for (uint32_t k = 0; k < dev->nlinks; k++) {
			w->to[at] = dev->links[k].to;
			w->count[at++] = dev->links[k].count;
		}
	}
	w->links[w->n] = at;
}

int gt_wiring_init(struct gt_wiring *wiring, const struct gt_device_tree *tree)
{
	size_t n = gt_device_tree_ndevices(tree);
	size_t nlinks = gt_wiring_nlinks(tree);

	*wiring = (struct gt_wiring){.tree = tree, .n = (uint32_t)n};
	wiring->memory =
		calloc(1, 2 * n * sizeof(uint64_t) +
				  (2 * n + 1 + 2 * nlinks) * sizeof(uint32_t));
	if (!wiring->memory)
		return 0;
	wiring->own = wiring->memory;
	wiring->old = wiring->own + n;
	wiring->gone = (uint32_t *)(wiring->old + n);
	wiring->links = wiring->gone + n;
	wiring->to = wiring->links + n + 1;
	wiring->count = (int *)(wiring->to + nlinks);
	gt_wiring_fill(wiring);
	return 1;
}

void gt_wiring_release(struct gt_wiring *wiring)
{
	free(wiring->memory);
}

void gt_wiring_start(const struct gt_wiring *wiring, uint64_t *colours)
{
	for (uint32_t i = 0; i < wiring->n; i++)
		colours[i] = wiring->gone[i] ? 0 : wiring->own[i];
}

/* Returns what a link adds to a colour; all switches are one. */
static uint64_t gt_wiring_end(const struct gt_wiring *wiring, uint32_t k)
{
	uint32_t to = wiring->to[k];

	return gt_hash_mix(gt_hash_mix(to ? wiring->old[to] : 1,
				       (uint64_t)wiring->count[k]),
			   2);
}

void gt_wiring_refine(const struct gt_wiring *wiring, uint64_t *colours)
{
	uint64_t *old = wiring->old;

	memcpy(old, colours, wiring->n * sizeof(*old));
	for (uint32_t i = 0; i < wiring->n; i++) {
		const struct gt_device *dev =
			gt_device_tree_device(wiring->tree, i);
		uint64_t sum = 0;

		if (wiring->gone[i])
			continue;
		for (uint32_t k = wiring->links[i]; k < wiring->links[i + 1];
		     k++)
			if (wiring->count[k] && !wiring->gone[wiring->to[k]])
				sum += gt_wiring_end(wiring, k);
		for (uint32_t k = dev->first; k;
		     k = gt_device_tree_device(wiring->tree, k)->next)
			if (!wiring->gone[k])
				sum += gt_hash_mix(old[k], 3);
		colours[i] = gt_hash_mix(
			gt_hash_mix(old[i], i ? old[dev->parent] : 0), sum);
	}
}

static int gt_wiring_order(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint32_t gt_wiring_sort(const struct gt_wiring *wiring, const uint64_t *colours,
			uint64_t *sorted)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < wiring->n; i++)
		if (!wiring->gone[i])
			sorted[n++] = colours[i];
	qsort(sorted, n, sizeof(*sorted), gt_wiring_order);
	return n;
}

uint64_t gt_wiring_colour(const struct gt_wiring *wiring, uint64_t *colours,
			  uint64_t *sorted, uint64_t *work)
{
	uint32_t count = 0, before, n;
	uint64_t sum = 0;

	gt_wiring_start(wiring, colours);
	do {
		before = count;
		gt_wiring_refine(wiring, colours);
		n = gt_wiring_sort(wiring, colours, sorted);
		*work += wiring->n + wiring->links[wiring->n];
		count = 0;
		for (uint32_t i = 0; i < n; i++)
			count += !i || sorted[i] != sorted[i - 1];
	} while (count > before);
	for (uint32_t i = 0; i < n; i++)
		sum += gt_hash_mix(sorted[i], 4);
	return sum;
}

uint64_t gt_device_tree_hash(const struct gt_device_tree *tree)
{
	struct gt_wiring wiring;
	uint64_t *colours, hash = 0, work = 0;

	if (!gt_wiring_init(&wiring, tree))
		return 0;
	colours = calloc(wiring.n, 2 * sizeof(*colours));
	if (colours)
		hash = gt_wiring_colour(&wiring, colours, colours + wiring.n,
					&work);
	free(colours);
	gt_wiring_release(&wiring);
	return !colours || hash ? hash : 1;
}
