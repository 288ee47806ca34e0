/* Refines the colours of a device tree, as device_tree.h describes it. */
#include "topo/diff/device_tree.h"

#include <stdlib.h>
#include <string.h>

#include "topo/diff/mix.h"

static int gt_device_tree_order(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Sorts the colours and returns how many different ones there are. */
static uint32_t gt_hash_distinct(uint64_t *colours, uint32_t n)
{
	uint32_t count = 0;

	qsort(colours, n, sizeof(*colours), gt_device_tree_order);
	for (uint32_t i = 0; i < n; i++)
		count += !i || colours[i] != colours[i - 1];
	return count;
}

static void gt_hash_refine(const struct gt_device_tree *tree,
			   const uint64_t *old, uint64_t *colours)
{
	uint32_t n = gt_device_tree_ndevices(tree);

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_device *dev = gt_device_tree_device(tree, i);
		uint64_t sum = 0;

		for (uint32_t k = 0; k < dev->nlinks; k++)
			sum += gt_hash_mix(
				gt_hash_mix(old[dev->links[k].to],
					    (uint64_t)dev->links[k].count),
				2);
		for (uint32_t k = dev->first; k;
		     k = gt_device_tree_device(tree, k)->next)
			sum += gt_hash_mix(old[k], 3);
		colours[i] = gt_hash_mix(
			gt_hash_mix(old[i], i ? old[dev->parent] : 0), sum);
	}
}

uint64_t gt_device_tree_colour(const struct gt_device_tree *tree,
			       const uint32_t *mark, uint64_t *colours)
{
	uint32_t n = gt_device_tree_ndevices(tree), count = 0, before;
	uint64_t *old = calloc(n, sizeof(*old));
	uint64_t sum = 0;

	if (!old)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		colours[i] = gt_device_tree_device(tree, i)->own;
		if (mark && mark[i])
			colours[i] = gt_hash_mix(colours[i], mark[i]);
	}
	do {
		before = count;
		memcpy(old, colours, n * sizeof(*old));
		gt_hash_refine(tree, old, colours);
		memcpy(old, colours, n * sizeof(*old));
		count = gt_hash_distinct(old, n);
	} while (count > before);
	for (uint32_t i = 0; i < n; i++)
		sum += gt_hash_mix(colours[i], 4);
	free(old);
	return sum;
}

uint64_t gt_device_tree_hash(const struct gt_device_tree *tree)
{
	uint64_t *colours =
		calloc(gt_device_tree_ndevices(tree), sizeof(*colours));
	uint64_t hash =
		colours ? gt_device_tree_colour(tree, NULL, colours) : 0;

	free(colours);
	return hash;
}
