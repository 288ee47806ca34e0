/* What of a device is compared, read from its element (server.c, inside). */
#ifndef GT_TOPO_SERVER_PROPS_H
#define GT_TOPO_SERVER_PROPS_H

#include "topo/server.h"

struct gt_arena;

/*
 * Fill dev->props from dev->elem and dev->kind, "" for what is not known or in
 * the mask `ignore`; texts are the arena's.  Memory that runs out leaves "".
 */
void gt_server_props(struct gt_arena *arena, unsigned ignore,
		     struct gt_dev *dev);

#endif
