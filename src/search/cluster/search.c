/*
 * One search for each shape of channels: the quotient, what is best of that
 * shape on it, a bound, and the plan of both.
 */
#include "search/cluster/search.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/block_templates.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/double_tree.h"
#include "search/cluster/emit.h"
#include "search/cluster/quotient.h"
#include "search/cluster/ring.h"
#include "search/emit/select_by_size.h"
#include "search/problem/shape.h"

/* The bound by cuts, and the plan of what was found with it. */
static int bound_and_emit(const struct gt_cluster_solution *found,
			  int all_routes, struct gt_arena *arena,
			  struct gt_plan **plan, struct gt_err *err)
{
	const struct gt_quotient_bound_query query = {
		.quotient = found->quotient,
		.coll = found->request->coll,
		.root = found->request->root,
		.all_routes = all_routes,
	};
	struct gt_cluster_solution bounded = *found;
	struct gt_quotient_bound bound;
	int rc = gt_quotient_bound_find(&query, arena, &bound, err);

	bounded.bound = &bound;
	return rc ? rc : gt_cluster_emit(&bounded, plan, err);
}

/* A search of one shape, in memory that is gone at its end. */
typedef int search_fn(const struct gt_cluster_request *request,
		      struct gt_arena *arena, struct gt_plan **plan,
		      struct gt_err *err);

static int search_in_arena(search_fn *search,
			   const struct gt_cluster_request *request,
			   struct gt_plan **plan, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = search(request, arena, plan, err);
	gt_arena_free(arena);
	return rc;
}

static int search_templates(const struct gt_cluster_request *request,
			    struct gt_arena *arena, struct gt_plan **plan,
			    struct gt_err *err)
{
	struct gt_block_trees block_trees;
	struct gt_block_templates templates;
	struct gt_cluster_solution found = {.request = request,
					    .templates = &templates};
	struct gt_quotient *q = NULL;
	int rc = gt_quotient_new(request, arena, &q, err);

	found.quotient = q;
	if (!rc)
		rc = gt_block_trees_solve(q, request->coll, arena, &block_trees,
					  err);
	if (!rc)
		rc = gt_block_templates_find(q, &block_trees, arena, &templates,
					     err);
	return rc ? rc : bound_and_emit(&found, 1, arena, plan, err);
}

int gt_cluster_search_templates(const struct gt_cluster_request *request,
				struct gt_plan **plan, struct gt_err *err)
{
	return search_in_arena(search_templates, request, plan, err);
}

static int search_rings(const struct gt_cluster_request *request,
			struct gt_arena *arena, struct gt_plan **plan,
			struct gt_err *err)
{
	struct gt_shape_args args = {.coll = request->coll,
				     .root = request->root,
				     .max_channels = request->max_channels,
				     .budget = request->budget,
				     .arena = arena};
	struct gt_proposal rings = {0};
	struct gt_cluster_ring_fabric ring_fabric;
	struct gt_cluster_solution found = {.request = request,
					    .rings = &rings,
					    .ring_fabric = &ring_fabric};
	struct gt_quotient *q = NULL;
	int rc = gt_quotient_new(request, arena, &q, err);

	found.quotient = q;
	if (!rc)
		rc = gt_cluster_ring_fabric_new(q, arena, &ring_fabric, err);
	args.fabric = ring_fabric.fabric;
	if (!rc)
		rc = gt_shape_ring.propose(&args, &rings, err);
	if (rc)
		return rc;
	return bound_and_emit(&found,
			      gt_cluster_ring_takes_all(&ring_fabric, q), arena,
			      plan, err);
}

int gt_cluster_search_rings(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err)
{
	return search_in_arena(search_rings, request, plan, err);
}

static int search_trees(const struct gt_cluster_request *request,
			struct gt_arena *arena, struct gt_plan **plan,
			struct gt_err *err)
{
	struct gt_double_trees double_trees;
	struct gt_cluster_solution found = {.request = request,
					    .double_trees = &double_trees};
	struct gt_quotient *q = NULL;
	int rc = gt_quotient_new(request, arena, &q, err);

	found.quotient = q;
	if (!rc)
		rc = gt_double_trees_find(q, request->coll, request->root,
					  arena, &double_trees, err);
	return rc ? rc : bound_and_emit(&found, 1, arena, plan, err);
}

int gt_cluster_search_trees(const struct gt_cluster_request *request,
			    struct gt_plan **plan, struct gt_err *err)
{
	return search_in_arena(search_trees, request, plan, err);
}

static int search_alltoall(const struct gt_cluster_request *request,
			   struct gt_arena *arena, struct gt_plan **plan,
			   struct gt_err *err)
{
	struct gt_alltoall a2a;
	struct gt_cluster_solution found = {.request = request, .a2a = &a2a};
	struct gt_quotient *q = NULL;
	int rc = gt_quotient_new(request, arena, &q, err);

	found.quotient = q;
	if (!rc)
		rc = gt_alltoall_solve(q, arena, &a2a, err);
	return rc ? rc : gt_cluster_emit(&found, plan, err);
}

int gt_cluster_search_alltoall(const struct gt_cluster_request *request,
			       struct gt_plan **plan, struct gt_err *err)
{
	return search_in_arena(search_alltoall, request, plan, err);
}

int gt_cluster_search_by_size(const struct gt_cluster_request *request,
			      struct gt_plan **plan, struct gt_err *err)
{
	static search_fn *const searches[] = {search_templates, search_rings,
					      search_trees};
	enum { GT_NSEARCHES = sizeof(searches) / sizeof(*searches) };
	struct gt_by_size_tries tries = {.n = 0};

	_Static_assert((int)GT_NSEARCHES <= (int)GT_BY_SIZE_TRIES,
		       "searches to try");
	for (uint32_t i = gt_coll_is_rooted(request->coll); i < GT_NSEARCHES;
	     i++) {
		if (searches[i] == search_trees &&
		    gt_coll_has_blocks(request->coll))
			continue;
		gt_err_init(&tries.why);
		tries.rc = search_in_arena(searches[i], request,
					   &tries.plans[tries.n], &tries.why);
		if (tries.rc && tries.rc != GT_ENO)
			break;
		tries.n += !tries.rc;
	}
	return gt_by_size_take(&tries, plan, err);
}
