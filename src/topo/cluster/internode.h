/*
 * Routes between the GPUs of two nodes of a cluster: over NVLink where a
 * fabric of NVSwitches joins them, else out through a network port, through
 * the fabric and in through a port of the other.  Of all pairs of ports the
 * one that is widest, then nearest to the GPUs, is taken, as NCCL does
 * without a plan; widths are those of one transfer alone.
 */
#ifndef GT_TOPO_CLUSTER_INTERNODE_H
#define GT_TOPO_CLUSTER_INTERNODE_H

#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

/*
 * Two nodes and the widths between their ports; all memory is the arena's, and
 * the cluster must outlive it.
 */
struct gt_internode {
	const struct gt_cluster *cluster;
	uint32_t nodes[2];
	const struct gt_cluster_kind *kinds[2];
	const struct gt_paths *paths[2]; /* routes within each node */
	/* [port * ports of the second + port]; 0: none */
	struct gt_rat *widths[GT_NFABRICKINDS];
};

struct gt_cluster_route {
	/* the worse of both ends; NVL over NVLink; DIS: none */
	enum gt_path_kind kind;
	enum gt_fabric_kind over;
	struct gt_rat gbs;
	uint32_t ports[2]; /* places in the kinds' lists of ports */
	/* to and from the port; NULL on NVLink */
	const struct gt_path *out, *in;
};

/*
 * Compute the widths between all ports of two nodes; `paths` are the routes
 * within the nodes' kinds.
 */
int gt_internode_make(const struct gt_cluster *cluster, const uint32_t nodes[2],
		      const struct gt_paths *const paths[2],
		      struct gt_arena *arena, struct gt_internode *internode,
		      struct gt_err *err);

/*
 * Find the route from a GPU of the first node to one of the second (indices of
 * nodes of their topologies).
 */
void gt_internode_route(const struct gt_internode *internode,
			const uint32_t gpus[2], struct gt_cluster_route *route);

#endif
