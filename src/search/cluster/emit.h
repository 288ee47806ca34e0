/*
 * From what the search of a cluster found to a plan: a node's ranks and links
 * by name, the cluster's levels and ports, channels of one shape, and the proof
 * with its certificate.
 */
#ifndef GT_SEARCH_CLUSTER_EMIT_H
#define GT_SEARCH_CLUSTER_EMIT_H

#include "search/cluster/solution.h"

struct gt_err;
struct gt_plan;

/*
 * *plan is the caller's, owes nothing to what it was made from, and has passed
 * gt_plan_check().  GT_EINPUT when its rates need more than 64 bits.
 */
int gt_cluster_emit(const struct gt_cluster_solution *solution,
		    struct gt_plan **plan, struct gt_err *err);

#endif
