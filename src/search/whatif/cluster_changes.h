/*
 * This tries what would raise a cluster's rate: more ports, second links beside
 * full ones, wider uplinks, each tried by solving the cluster again.
 */
#ifndef GT_SEARCH_WHATIF_CLUSTER_CHANGES_H
#define GT_SEARCH_WHATIF_CLUSTER_CHANGES_H

struct gt_err;
struct gt_whatif_cluster_state;

/* Fill the result's changes; groups and full rows are known. */
int gt_whatif_cluster_try(struct gt_whatif_cluster_state *s,
			  struct gt_err *err);

#endif
