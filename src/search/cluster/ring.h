/*
 * The best rings through a cluster's nodes (plan/ir/cluster.h): a ring packing of
 * one node, whose rings go out of a door and come in by one.  As all nodes are
 * gone through alike, what rings load of one they load of each.
 */
#ifndef GT_SEARCH_CLUSTER_RING_H
#define GT_SEARCH_CLUSTER_RING_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;
struct gt_quotient;

/*
 * Where rails are apart rings alternate, if they can: then any door goes with
 * any.  Links of the fabric are the node's, from `first` on, then uplinks;
 * before them stand, where rings alternate, those of a node of odd number.
 */
struct gt_cluster_ring_fabric {
	struct gt_fabric *fabric;
	int alternate;
	uint32_t first;
	int complete; /* are these all rings that plans may have? */
};

/*
 * May a ring go from or to a port this way?  Where it alternates, it also has
 * to go back; and without a charge, which would end at the port both times.
 */
int gt_cluster_ring_takes(const struct gt_cluster_ring_fabric *doors,
			  const struct gt_fabric_route *there,
			  const struct gt_fabric_route *back);

/* May rings take all routes to ports and back that there are? */
int gt_cluster_ring_takes_all(const struct gt_cluster_ring_fabric *doors,
			      const struct gt_quotient *q);

/* Memory is the arena's.  GT_EINPUT when there is one node only. */
int gt_cluster_ring_fabric_new(const struct gt_quotient *q,
			       struct gt_arena *arena,
			       struct gt_cluster_ring_fabric *doors,
			       struct gt_err *err);

#endif
