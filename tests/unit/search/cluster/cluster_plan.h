/*
 * A plan of templates, or of a flow, for so many nodes like the one in a file.
 */
#ifndef GT_TESTS_UNIT_SEARCH_CLUSTER_CLUSTER_PLAN_H
#define GT_TESTS_UNIT_SEARCH_CLUSTER_CLUSTER_PLAN_H

#include "unit/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/search.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

/* Where the file is that of a cluster it says the number of nodes itself. */
static inline struct gt_plan *cluster_plan(const char *path, uint32_t nodes,
					   enum gt_coll coll)
{
	struct gt_cluster_request request = {.coll = coll};
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster *cluster = NULL;
	struct gt_paths *paths = NULL;
	struct gt_topo *topo = NULL;
	struct gt_plan *plan;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_cluster_read(path, GT_RATES_MEASURED, &cluster, &topo, &err) ||
	    (topo && gt_cluster_copies(topo, nodes, NULL, &cluster, &err)))
		fail_msg("%s: %s", err.where, err.text);
	request.cluster = cluster;
	if (gt_gpu_list_read(cluster->kinds[0].topo, NULL, arena, &request.gpus,
			     &request.ngpus, &err) ||
	    gt_paths_new(cluster->kinds[0].topo, &paths, &err))
		fail_msg("%s: %s", err.where, err.text);
	request.paths = paths;
	if ((gt_coll_only_moves(coll)
		     ? gt_cluster_search_alltoall
		     : gt_cluster_search_templates)(&request, &plan, &err))
		fail_msg("%s %u: %s: %s", path, nodes, err.where, err.text);
	gt_paths_free(paths);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	gt_arena_free(arena);
	return plan;
}

#endif
