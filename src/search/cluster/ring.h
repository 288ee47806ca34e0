/*
 * The fabric on which the best rings through a cluster's nodes
 * (plan/ir/cluster.h) are searched.  It is one node whose rings leave by a
 * port and come in by one: as rings go through all nodes alike, what they load
 * of one they load of each.
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
 * Where rails are apart rings alternate, if they can: then any port to leave
 * by goes with any to come in by.  The fabric's links from `first` on are the
 * node's, then uplinks; those before are the links of a node of odd number,
 * which are there only where rings alternate.
 */
struct gt_cluster_ring_fabric {
	struct gt_fabric *fabric;
	int alternate;
	uint32_t first;
	int complete; /* does the fabric allow all rings of plans? */
};

/*
 * May a ring take the route `there` to a port, or from it?  Where it
 * alternates it also goes `back`, and neither route may have a charge, which
 * would end at the port both times.
 */
int gt_cluster_ring_takes(const struct gt_cluster_ring_fabric *rings,
			  const struct gt_fabric_route *there,
			  const struct gt_fabric_route *back);

/* May rings take all routes that lead to ports and back? */
int gt_cluster_ring_takes_all(const struct gt_cluster_ring_fabric *rings,
			      const struct gt_quotient *q);

/* Memory is the arena's.  GT_EINPUT when there is one node only. */
int gt_cluster_ring_fabric_new(const struct gt_quotient *q,
			       struct gt_arena *arena,
			       struct gt_cluster_ring_fabric *rings,
			       struct gt_err *err);

#endif
