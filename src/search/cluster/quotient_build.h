/*
 * From a cluster, as the topology has it, to its quotient.
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_BUILD_H
#define GT_SEARCH_CLUSTER_QUOTIENT_BUILD_H

struct gt_arena;
struct gt_cluster;
struct gt_cluster_request;
struct gt_err;
struct gt_quotient;

/* Are nodes and switches all alike?  GT_EINPUT, and what is not, if not. */
int gt_quotient_accepts(const struct gt_cluster *cluster, struct gt_err *err);

/*
 * The quotient of the request's cluster.  Memory is the arena's; names and
 * routes are borrowed from the topology and its paths.  GT_EINPUT as above.
 */
int gt_quotient_new(const struct gt_cluster_request *request,
		    struct gt_arena *arena, struct gt_quotient **q,
		    struct gt_err *err);

#endif
