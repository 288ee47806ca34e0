/*
 * The ports of a node as the search of a cluster sees them: those of the
 * network or, where NVLinks join all nodes, one that stands for all of the
 * node's NVLinks.
 */
#ifndef GT_SEARCH_CLUSTER_PORTS_H
#define GT_SEARCH_CLUSTER_PORTS_H

#include "topo/cluster/cluster.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_quotient;
struct gt_cluster_request;

/*
 * What joins the nodes in a plan: NVLinks if they join all GPUs, else the
 * network.
 */
enum gt_fabric_kind gt_quotient_fabric_kind(const struct gt_cluster *cluster);

/*
 * Set q's ports, the routes between them and ranks, and the names of vertices
 * and links.  `fabric` is q->fabric: over NVLink it gets one vertex more,
 * NVLINK/0, and links between that and the NVSwitches.  GT_ESYS when memory
 * ran out.
 */
int gt_quotient_ports_init(const struct gt_cluster_request *request,
			   struct gt_fabric *node, struct gt_arena *arena,
			   struct gt_quotient *q, struct gt_err *err);

#endif
