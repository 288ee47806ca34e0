/*
 * From a cluster to a plan of templates or of rings: what `gtopo search --algo
 * hier` and `ring` do.
 */
#ifndef GT_SEARCH_CLUSTER_SEARCH_H
#define GT_SEARCH_CLUSTER_SEARCH_H

#include "plan/ir/program.h"
#include "topo/graph/topo.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_quotient;
struct gt_paths;
struct gt_plan;
struct gt_budget;

struct gt_cluster_request {
	const struct gt_cluster *cluster;
	const struct gt_paths *paths; /* of its only kind of nodes */
	enum gt_rates rates;
	enum gt_coll coll;
	uint32_t ngpus; /* of each node */
	const uint32_t *gpus;
	uint32_t root;                 /* of a broadcast or reduce */
	uint32_t max_channels;         /* of rings; 0: no limit */
	const struct gt_budget *watch; /* or NULL */
};

/*
 * The best plan of templates, with its proof; *plan is the caller's and has
 * passed gt_plan_check().  GT_EINPUT when nodes or switches are not all
 * alike; GT_ENO when there is no plan.
 */
int gt_cluster_search_templates(const struct gt_cluster_request *request,
				struct gt_plan **plan, struct gt_err *err);

/* The same of rings through all nodes (plan/ir/cluster.h). */
int gt_cluster_search_rings(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err);

/* Are nodes and switches all alike?  GT_EINPUT, and what is not, if not. */
int gt_cluster_search_accepts(const struct gt_cluster *cluster,
			      struct gt_err *err);

/* Trees through all nodes: all-reduce, broadcast and reduce. */
int gt_cluster_search_trees(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err);

/* All-to-all, as a flow that is the same in all nodes. */
int gt_cluster_search_alltoall(const struct gt_cluster_request *request,
			       struct gt_plan **plan, struct gt_err *err);

/*
 * All of these that do the collective, each at the sizes where it is quickest
 * (search/emit/select_by_size.h); the proof is that of the largest bandwidth.
 */
int gt_cluster_search_by_size(const struct gt_cluster_request *request,
			      struct gt_plan **plan, struct gt_err *err);

/* The cluster as numbers.  Memory is the arena's. */
int gt_quotient_new(const struct gt_cluster_request *request,
		    struct gt_arena *arena, struct gt_quotient **q,
		    struct gt_err *err);

#endif
