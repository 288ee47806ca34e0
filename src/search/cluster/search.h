/*
 * From a cluster of equal nodes to a plan, by the shape of its channels.  What
 * is searched is one node and the levels of switches above it
 * (search/cluster/quotient.h), so the time does not grow with the nodes.
 *
 * *plan is the caller's and has passed gt_plan_check().  Errors: GT_EINPUT
 * when nodes or switches are not all alike (gt_quotient_accepts()), GT_ENO
 * when there is no such plan.
 */
#ifndef GT_SEARCH_CLUSTER_SEARCH_H
#define GT_SEARCH_CLUSTER_SEARCH_H

#include "search/cluster/request.h"

struct gt_err;
struct gt_plan;

/* Templates: every rank's block along a tree at home and one away. */
int gt_cluster_search_templates(const struct gt_cluster_request *request,
				struct gt_plan **plan, struct gt_err *err);

/* Rings through all ranks of all nodes. */
int gt_cluster_search_rings(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err);

/* Trees through all nodes, for all-reduce, broadcast and reduce. */
int gt_cluster_search_trees(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err);

/* An all-to-all, as a flow that is the same in all nodes. */
int gt_cluster_search_alltoall(const struct gt_cluster_request *request,
			       struct gt_plan **plan, struct gt_err *err);

/*
 * All shapes that do the collective (no all-to-all), each at the sizes where it
 * is quickest (search/emit/select_by_size.h).  The proof is that of the largest
 * bandwidth.
 */
int gt_cluster_search_by_size(const struct gt_cluster_request *request,
			      struct gt_plan **plan, struct gt_err *err);

#endif
