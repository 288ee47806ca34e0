/*
 * The route between every two devices (GPUs and network ports).
 *
 * The hardware fixes a pair's peer-to-peer route: the direct NVLink or
 * NVSwitch if there is one, else the widest PCIe / inter-CPU route, then the
 * one with fewest hops.  A GPU relays only where no direct NVLink exists, at
 * most once (NVB).  GPUs that do not reach each other's memory, as the file
 * says, take no NVLink, and go up to the first one's CPU, into the memory of
 * the second one's, where the bytes are staged, and down from there.  NICs
 * take the widest route.  "Widest" is by bottleneck bandwidth (a
 * maximum-capacity path: Pollack, "The maximum capacity through a network",
 * 1960).
 */
#ifndef GT_TOPO_GRAPH_PATH_H
#define GT_TOPO_GRAPH_PATH_H

#include <stdint.h>

#include "base/rat.h"
#include "topo/graph/path_kind.h"

struct gt_err;
struct gt_topo;
struct gt_paths;

struct gt_path {
	enum gt_path_kind kind;
	/*
	 * of the narrowest link, once `charge` is taken off PCI links: what one
	 * transfer reaches
	 */
	struct gt_rat gbs;
	struct gt_rat charge; /* by which PCI links carry less: 1, or 6/5 */
	/*
	 * Two GPUs without peer access: bytes are put into the memory of a CPU
	 * on the way, the second one's, and are taken from there.
	 */
	int is_staged;
	uint32_t nhops;
	const uint32_t *links; /* nhops links of the topology */
};

/* Compute all routes; the topology must outlive them.  Only memory can fail. */
int gt_paths_new(const struct gt_topo *topo, struct gt_paths **paths,
		 struct gt_err *err);

/* Compute the routes that there are if no GPU relays (neither NVB nor PXN). */
int gt_paths_new_direct(const struct gt_topo *topo, struct gt_paths **paths,
			struct gt_err *err);

/*
 * Compute the routes that there were if all GPUs had peer access, whatever the
 * topology says.
 */
int gt_paths_new_open(const struct gt_topo *topo, struct gt_paths **paths,
		      struct gt_err *err);

void gt_paths_free(struct gt_paths *paths);

/*
 * Returns the route from one GPU or network port (indices of nodes) to another;
 * it is never NULL.
 */
const struct gt_path *gt_paths_get(const struct gt_paths *paths, uint32_t from,
				   uint32_t to);

/*
 * What a GPU may do to the memory of the n-th GPU in order of dev: whether that
 * is to read and to write.  What the file does not say, or says of another
 * number of GPUs, is taken for access.
 */
int gt_topo_may_access(const struct gt_topo *topo, uint32_t from, uint32_t to);

/*
 * Returns the route between two devices that passes through no GPU: of two GPUs
 * the one by which each reaches the other's memory.  It is never NULL.
 */
const struct gt_path *gt_paths_peer(const struct gt_paths *paths, uint32_t from,
				    uint32_t to);

#endif
