/*
 * From a cluster to a plan of templates: what `gtopo search --algo hier` does.
 */
#ifndef GT_SEARCH_HIER_REQUEST_H
#define GT_SEARCH_HIER_REQUEST_H

#include "plan/program.h"
#include "topo/topo.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_hier;
struct gt_hier_bound;
struct gt_hier_trees;
struct gt_paths;
struct gt_plan;

struct gt_hier_request {
	const struct gt_cluster *cluster;
	const struct gt_paths *paths; /* of its only kind of nodes */
	enum gt_rates rates;
	enum gt_coll coll;
	uint32_t ngpus; /* of each node */
	const uint32_t *gpus;
};

/*
 * The best plan of templates, with its proof; *plan is the caller's and has
 * passed gt_plan_check().  GT_EINPUT when nodes or switches are not all
 * alike; GT_ENO when there is no plan.
 */
int gt_hier_search(const struct gt_hier_request *request, struct gt_plan **plan,
		   struct gt_err *err);

/* Its parts: the cluster as numbers; numbers as a plan (hier_emit.c). */
int gt_hier_new(const struct gt_hier_request *request, struct gt_arena *arena,
		struct gt_hier **hier, struct gt_err *err);

struct gt_hier_found {
	const struct gt_hier_request *request;
	const struct gt_hier *hier;
	const struct gt_hier_trees *trees;
	const struct gt_hier_bound *bound;
};
int gt_hier_emit(const struct gt_hier_found *found, struct gt_plan **plan,
		 struct gt_err *err);

#endif
