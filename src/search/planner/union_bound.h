/*
 * What no schedule exceeds on a cluster whose nodes are not alike if each had
 * the links and ports that any of them has: what the differences cost at most.
 */
#ifndef GT_SEARCH_PLANNER_UNION_BOUND_H
#define GT_SEARCH_PLANNER_UNION_BOUND_H

#include "base/rat.h"

struct gt_cluster;
struct gt_cluster_request;
struct gt_err;

/*
 * Find the bound for a request, whose cluster and paths are replaced, in GB/s
 * of the result; *found is 0 where none is known, as of nodes that have no
 * union.
 */
int gt_union_bound(const struct gt_cluster *cluster,
		   const struct gt_cluster_request *ask, int *found,
		   struct gt_rat *value, struct gt_err *err);

#endif
