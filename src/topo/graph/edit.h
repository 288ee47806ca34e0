/*
 * Edits for questions of what would be: a topology without a link or a device,
 * with a faster link, or with a bridge.  It stays the same machine, so its
 * digests do not change.
 *
 * Routes that were made before (topo/graph/path.h) are void after an edit.
 */
#ifndef GT_TOPO_GRAPH_EDIT_H
#define GT_TOPO_GRAPH_EDIT_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_topo;

/*
 * Take away the links of a list such as "CPU0-CPU1,GPU0>NVS/0": "-" both ways,
 * ">" one way only.  topo/graph/name.h says how nodes are called; a list of
 * links has no ranges.  GT_EINPUT, naming the entry, when there is no such
 * link.  A list of NULL takes nothing away.
 */
int gt_topo_exclude_links(struct gt_topo *topo, const char *list,
			  struct gt_err *err);

/*
 * Take away the nodes of a list (GPUs, switches, CPUs, network ports), such as
 * "GPU0-3,mlx5_0", with all their links.  GT_EINPUT, naming the entry, when
 * there is no such node.  A list of NULL takes nothing away.
 */
int gt_topo_exclude_devices(struct gt_topo *topo, const char *list,
			    struct gt_err *err);

void gt_topo_set_gbs(struct gt_topo *topo, uint32_t link, struct gt_rat gbs);

/* An NVLink bridge between two GPUs (nodes) that no NVLink joins. */
struct gt_topo_bridge {
	uint32_t gpus[2];
	uint32_t count;    /* of links */
	struct gt_rat gbs; /* of all of them, one way */
	/* what the GPUs might access before it was there; the edit's own */
	const char *p2p[2];
};

/*
 * Add the bridge, over which both reach the other's memory.  Only memory can
 * fail, and the topology is then as it was.  gt_topo_unbridge() takes the
 * bridge away again; links then have the indices that they had.
 */
int gt_topo_bridge(struct gt_topo *topo, struct gt_topo_bridge *bridge,
		   struct gt_err *err);
void gt_topo_unbridge(struct gt_topo *topo,
		      const struct gt_topo_bridge *bridge);

#endif
