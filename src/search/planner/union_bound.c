/* Bounds a cluster as if each of its nodes had what any of them has. */
#include "search/planner/union_bound.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

/* Bound the quotient of a cluster whose nodes have all that any node has. */
static int bound_union(const struct gt_cluster_request *request,
		       struct gt_arena *arena, struct gt_quotient_bound *bound,
		       struct gt_err *err)
{
	struct gt_alltoall flow;
	struct gt_quotient *q = NULL;
	struct gt_quotient_bound_query query;
	int rc = gt_quotient_new(request, arena, &q, err);

	if (rc)
		return rc;
	query = (struct gt_quotient_bound_query){q, request->coll,
						 request->root, 1};
	if (!gt_coll_only_moves(request->coll))
		return gt_quotient_bound_find(&query, arena, bound, err);
	rc = gt_alltoall_solve(q, arena, &flow, err);
	if (rc)
		return rc;
	bound->found = flow.has_bound;
	bound->value = flow.bound;
	return GT_OK;
}

int gt_union_bound(const struct gt_cluster *cluster,
		   const struct gt_cluster_request *ask, int *found,
		   struct gt_rat *value, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster_request request = *ask;
	struct gt_quotient_bound bound = {.found = 0};
	struct gt_cluster *all = NULL;
	struct gt_paths *paths = NULL;
	struct gt_err none;
	int rc;

	gt_err_init(&none);
	rc = arena ? gt_cluster_homogenize(cluster, GT_UNION, &all, &none)
		   : gt_err_nomem(&none);
	*found = 0;
	/* Machines that have no union have no bound. */
	if (rc == GT_EINPUT) {
		gt_arena_free(arena);
		return GT_OK;
	}
	if (rc)
		gt_err_set(err, rc, none.where, "%s", none.text);
	request.cluster = all;
	if (!rc)
		rc = gt_paths_new(all->kinds[0].topo, &paths, err);
	request.paths = paths;
	if (!rc)
		rc = bound_union(&request, arena, &bound, err);
	*found = bound.found;
	*value = bound.value;
	gt_paths_free(paths);
	gt_cluster_free(all);
	gt_arena_free(arena);
	return rc;
}
