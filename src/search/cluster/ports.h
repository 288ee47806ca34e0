/*
 * A node's ports as a cluster's search sees them: those of the network, or, where
 * NVLinks join all nodes, one for all of the node's NVLinks.
 */
#ifndef GT_SEARCH_CLUSTER_PORTS_H
#define GT_SEARCH_CLUSTER_PORTS_H

#include "topo/cluster/cluster.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_quotient;
struct gt_cluster_request;

/* The fabric that a plan uses: NVLinks that join all GPUs, else the network. */
enum gt_fabric_kind gt_quotient_over(const struct gt_cluster *cluster);

/*
 * Ports, the routes between them and ranks, and what vertices and links are
 * called.  Over NVLink `box`, which is hier->fabric, gets a vertex more, NVLINK/0,
 * and links between it and the NVSwitches that are as wide as all GPUs' to
 * these.
 */
int gt_quotient_ports_init(const struct gt_cluster_request *request,
			   struct gt_fabric *node, struct gt_arena *arena,
			   struct gt_quotient *q, struct gt_err *err);

#endif
