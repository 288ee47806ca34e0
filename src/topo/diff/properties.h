/* What of a device is compared, read from its element (device_tree.c, inside). */
#ifndef GT_TOPO_DIFF_PROPERTIES_H
#define GT_TOPO_DIFF_PROPERTIES_H

#include "topo/diff/device_tree.h"

struct gt_arena;

/*
 * Fill dev->props from dev->elem and dev->kind, "" for what is not known or in
 * the mask `ignore`; texts are the arena's.  Memory that runs out leaves "".
 */
void gt_device_read_props(struct gt_arena *arena, unsigned ignore,
			  struct gt_device *dev);

#endif
