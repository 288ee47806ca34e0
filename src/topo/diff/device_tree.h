/*
 * This is a server as a tree of devices, made to be compared with others: what
 * each device is and how it is wired, without what only names it (bus ids,
 * guids, interface names, numbers of GPUs and NUMA nodes, the file's order).
 *
 * A tree is made from topology XML and then only read, by any number of
 * threads; it owns all that it hands out.  Devices are dense indices; 0 is the
 * server itself, and a device comes after its parent.
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
 * unknown, and with the bit 1 << GT_NPROPS links of GPUs count as not there.
 * GT_EINPUT when the file is not a topology.
 */
int gt_device_tree_read(const char *path, unsigned ignore,
			struct gt_device_tree **tree, struct gt_err *err);

/* Read a tree from text; `name` stands for it in messages. */
int gt_device_tree_parse(const char *name, const char *text, size_t len,
			 unsigned ignore, struct gt_device_tree **tree,
			 struct gt_err *err);

/* NULL is allowed. */
void gt_device_tree_free(struct gt_device_tree *tree);

const char *gt_device_tree_source(const struct gt_device_tree *tree);
uint32_t gt_device_tree_ndevices(const struct gt_device_tree *tree);
const struct gt_device *gt_device_tree_device(const struct gt_device_tree *tree,
					      uint32_t i);

/* Returns the number of NVLinks from one device to another (0: to switches). */
int gt_device_tree_nlinks(const struct gt_device_tree *tree, uint32_t from,
			  uint32_t to);

/*
 * Returns a hash that is equal for servers that are wired alike, by colour
 * refinement (wiring.h); 0 when memory ran out.
 */
uint64_t gt_device_tree_hash(const struct gt_device_tree *tree);

#endif
