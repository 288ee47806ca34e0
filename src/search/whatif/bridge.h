/* What NVLink bridges between cards that could have them would bring. */
#ifndef GT_SEARCH_WHATIF_BRIDGE_H
#define GT_SEARCH_WHATIF_BRIDGE_H

#include <stdint.h>

#include "topo/graph/topo.h"

struct gt_arena;
struct gt_err;
struct gt_topo_bridge;

struct gt_whatif_bridges {
	uint32_t n;
	struct gt_topo_bridge *list;
	const char *name; /* "NVLink bridges GPU0–GPU1, GPU2–GPU3" */
};

/*
 * Put bridges between pairs of these GPUs (nodes): cards of one model that is
 * sold with bridges, on one NUMA node, which no NVLink joins to anything.  All
 * is the arena's.  n is 0 where there is no such pair; only memory can fail.
 * gt_whatif_bridges_take() takes them out again.
 */
int gt_whatif_bridges_put(struct gt_topo *topo, const uint32_t *gpus,
			  uint32_t ngpus, enum gt_rates rates,
			  struct gt_arena *arena,
			  struct gt_whatif_bridges *bridges,
			  struct gt_err *err);
void gt_whatif_bridges_take(struct gt_topo *topo,
			    const struct gt_whatif_bridges *bridges);

#endif
