/*
 * A server as a tree of devices, made to be compared with others: what a
 * device is and how it is wired, without what only names it (bus ids, guids,
 * interface names, numbers of GPUs and NUMA nodes, the file's order).
 *
 * Made from topology XML, then only read, by any number of threads; it owns
 * all that it hands out.  Devices are dense indices; 0 is the server itself,
 * and a device comes after its parent.
 */
#ifndef GT_TOPO_DIFF_DEVICE_TREE_H
#define GT_TOPO_DIFF_DEVICE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "topo/diff/device.h"

struct gt_device_tree;
struct gt_err;

/*
 * Read a file.  Properties in the mask `ignore` (1 << GT_PROP_…) count as
 * unknown, GPUs' links (1 << GT_NPROPS) as not there.  GT_EINPUT when it is
 * not a topology.
 */
int gt_device_tree_read(const char *path, unsigned ignore,
			struct gt_device_tree **tree, struct gt_err *err);

/* The same from text; `name` stands for it in messages. */
int gt_device_tree_parse(const char *name, const char *text, size_t len,
			 unsigned ignore, struct gt_device_tree **tree,
			 struct gt_err *err);

/* NULL is allowed. */
void gt_device_tree_free(struct gt_device_tree *tree);

const char *gt_device_tree_source(const struct gt_device_tree *tree);
uint32_t gt_device_tree_ndevices(const struct gt_device_tree *tree);
const struct gt_device *gt_device_tree_device(const struct gt_device_tree *tree,
					      uint32_t i);

/*
 * Equal for servers that are wired alike.  By colour refinement: a device's
 * colour is a hash of its properties, then again and again of the colours of
 * its parent, its children and its NVLinks' ends, until no more colours come
 * (Weisfeiler and Leman, 1968; Berkholz, Bonsma and Grohe, "Tight lower and
 * upper bounds for the complexity of canonical colour refinement", 2017).
 */
uint64_t gt_device_tree_hash(const struct gt_device_tree *tree);

/*
 * The colours themselves, for every device, in colours[].  Devices with a
 * mark other than 0 (NULL: none) are told apart by it.  0 when memory ran out.
 */
uint64_t gt_device_tree_colour(const struct gt_device_tree *tree,
			       const uint32_t *mark, uint64_t *colours);

#endif
