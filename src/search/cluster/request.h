/*
 * What is asked of the search of a cluster: which GPUs of each node, and what
 * for.
 */
#ifndef GT_SEARCH_CLUSTER_REQUEST_H
#define GT_SEARCH_CLUSTER_REQUEST_H

#include <stdint.h>

#include "plan/ir/program.h"
#include "topo/graph/topo.h"

struct gt_budget;
struct gt_cluster;
struct gt_paths;

struct gt_cluster_request {
	const struct gt_cluster *cluster;
	const struct gt_paths *paths; /* of its only kind of nodes */
	enum gt_rates rates;          /* which capacities it was read with */
	enum gt_coll coll;
	uint32_t ngpus;        /* of each node */
	const uint32_t *gpus;  /* the node's devices, in order of rank */
	uint32_t root;         /* of a broadcast or reduce */
	uint32_t max_channels; /* of rings; 0: no limit */
	const struct gt_budget *budget; /* NULL: no limit */
};

#endif
