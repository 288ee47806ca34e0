/*
 * The front door of the search on one machine: it looks the shape up by its
 * name, lets it propose channels, adds what bounds every schedule, and has the
 * proposal made into a plan.
 */
#include "search/search.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/emit/emit.h"
#include "search/emit/merge.h"
#include "search/emit/select_by_size.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "search/ring/equal_shares.h"

static const struct gt_shape_entry *const gt_shapes[] = {
	&gt_shape_ring,
	&gt_shape_forest,
	&gt_shape_flow,
};

/* How many equal channels there are if nobody says, of trees a root. */
enum { GT_SEARCH_RINGS = 32, GT_SEARCH_TREES = 8 };

enum { GT_NSHAPETABLE = sizeof(gt_shapes) / sizeof(gt_shapes[0]) };

static const struct gt_shape_entry *gt_search_shape(const char *name)
{
	/* of an all-reduce people say tree */
	if (!strcmp(name, "tree"))
		return &gt_shape_forest;
	if (!strcmp(name, "alltoall"))
		return &gt_shape_flow;
	for (size_t i = 0; i < GT_NSHAPETABLE; i++)
		if (!strcmp(gt_shapes[i]->name, name))
			return gt_shapes[i];
	return NULL;
}

/* A bound on every schedule bounds rings too. */
static int gt_search_tighten(const struct gt_shape_args *args,
			     struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_bound_query ask = {args->fabric, args->coll, args->root};
	struct gt_bound *any = gt_arena_alloc(args->arena, sizeof(*any));
	int rc = any ? gt_bound_find_routed(&ask, args->arena, any, err)
		     : gt_err_nomem(err);

	if (rc || !any->found)
		return rc;
	proposal->cut = any;
	proposal->has_any_bound = 1;
	proposal->any_bound = any->value;
	if (proposal->has_bound && gt_rat_cmp(proposal->bound, any->value) <= 0)
		return GT_OK;
	proposal->has_bound = 1;
	proposal->bound = any->value;
	proposal->nprices = 0;
	proposal->relays = 0;
	proposal->max_channels = 0;
	return GT_OK;
}

static int gt_search_is_equal(const struct gt_search_request *request,
			      const struct gt_shape_entry *shape)
{
	return request->equal ||
	       (request->trees_per_root && shape->shape == GT_SHAPE_TREE);
}

/* Trees, which take no limit otherwise than of equal shares. */
static int gt_search_too_many(const struct gt_search_request *request,
			      const struct gt_proposal *proposal)
{
	return proposal->shape == GT_SHAPE_TREE && request->max_channels &&
	       proposal->nchannels > request->max_channels;
}

static int gt_search_equal(const struct gt_search_request *request,
			   const struct gt_shape_args *args,
			   const struct gt_shape_entry *shape,
			   struct gt_proposal *proposal,
			   struct gt_search_stats *stats, struct gt_err *err)
{
	struct gt_equal_query ask = {args, shape, 1, 1, GT_SEARCH_RINGS, NULL};
	uint32_t all = request->max_channels;
	int rc;

	if (shape->shape == GT_SHAPE_TREE) {
		ask.max = request->trees_per_root;
		if (gt_coll_has_blocks(request->coll))
			ask.groups = request->nranks;
	}
	if (all && all < ask.groups)
		return gt_err_set(err, GT_ENO, "--max-channels",
				  "each of %u GPUs needs a tree of its own",
				  ask.groups);
	if (all && (!request->trees_per_root || all / ask.groups < ask.max))
		ask.max = all / ask.groups;
	if (!ask.max)
		ask.max = GT_SEARCH_TREES;
	stats->max_equal = ask.max * ask.groups;
	rc = gt_equal_shares(&ask, proposal, &stats->equal_bound, err);
	return rc ? rc : gt_equal_prove(&ask, proposal, err);
}

static int gt_search_run(const struct gt_search_request *request,
			 const struct gt_shape_entry *shape,
			 struct gt_proposal *proposal, struct gt_arena *arena,
			 struct gt_plan **plans, uint32_t n,
			 struct gt_search_stats *stats, struct gt_err *err)
{
	struct gt_shape_args args = {.coll = request->coll,
				     .root = request->root,
				     .demand = request->demand,
				     .max_channels = request->max_channels,
				     .bare = gt_search_is_equal(request, shape),
				     .budget = request->budget,
				     .arena = arena};
	struct gt_solution found = {request, NULL, proposal};
	struct gt_fabric *fabric;
	int rc = gt_search_request_fabric(request, arena, &fabric, err);

	if (rc)
		return rc;
	/* Equal shares are of whole hops alone. */
	fabric->relays = fabric->relays && !args.bare;
	args.fabric = found.fabric = fabric;
	rc = shape->propose(&args, proposal, err);
	if (!rc && proposal->class_ == GT_PROOF_RING)
		rc = gt_search_tighten(&args, proposal, err);
	if (!rc && (args.bare || gt_search_too_many(request, proposal)))
		rc = gt_search_equal(request, &args, shape, proposal, stats,
				     err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = gt_emit(&found, &plans[i], err);
	return rc;
}

/* The best plan of a shape, `n` times; plans are NULL so far. */
static int gt_search_shape_plans(const struct gt_search_request *request,
				 const struct gt_shape_entry *shape,
				 struct gt_plan **plans, uint32_t n,
				 struct gt_search_stats *stats,
				 struct gt_err *err)
{
	struct gt_proposal proposal = {0};
	struct gt_arena *arena = gt_arena_new();
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_run(request, shape, &proposal, arena, plans, n, stats,
			   err);
	stats->nrows = proposal.nrows;
	stats->unlimited = proposal.unlimited;
	stats->ncolumns = proposal.ncolumns;
	stats->nrounds = proposal.nrounds;
	gt_arena_free(arena);
	return rc;
}

static int gt_search_shape_plan(const struct gt_search_request *request,
				const struct gt_shape_entry *shape,
				struct gt_plan **plan,
				struct gt_search_stats *stats,
				struct gt_err *err)
{
	return gt_search_shape_plans(request, shape, plan, 1, stats, err);
}

/* All shapes that the machine has; the last one's words when it has none. */
static int gt_search_all(const struct gt_search_request *request,
			 struct gt_plan **plan, struct gt_search_stats *stats,
			 struct gt_err *err)
{
	struct gt_search_stats took[GT_NSHAPETABLE] = {{0}}, sum = {0};
	struct gt_by_size_tries tries = {.n = 0};
	int rc;

	_Static_assert((int)GT_NSHAPETABLE <= (int)GT_BY_SIZE_TRIES,
		       "shapes to try");
	gt_err_init(&tries.why);
	for (size_t i = 0; i < GT_NSHAPETABLE; i++) {
		struct gt_search_stats *one = &took[tries.n];

		if (!gt_shapes[i]->supports(request->coll))
			continue;
		gt_err_init(&tries.why);
		tries.rc = gt_search_shape_plan(request, gt_shapes[i],
						&tries.plans[tries.n], one,
						&tries.why);
		if (tries.rc && tries.rc != GT_ENO)
			break;
		sum.nrows += one->nrows;
		sum.ncolumns += one->ncolumns;
		sum.nrounds += one->nrounds;
		tries.n += !tries.rc;
	}
	rc = gt_by_size_take(&tries, plan, err);
	if (rc)
		return rc;
	sum.unlimited = took[tries.best].unlimited;
	sum.max_equal = took[tries.best].max_equal;
	sum.equal_bound = took[tries.best].equal_bound;
	*stats = sum;
	return GT_OK;
}

/* Over the routes that other shapes would use. */
static int gt_search_mesh(const struct gt_search_request *request,
			  struct gt_plan **plan, struct gt_search_stats *stats,
			  struct gt_err *err)
{
	struct gt_plan *made;
	uint32_t best;
	const struct gt_shape_entry *shape = gt_coll_only_moves(request->coll)
						     ? &gt_shape_flow
						     : &gt_shape_ring;
	int rc = gt_search_shape_plan(request, shape, &made, stats, err);

	if (rc)
		return rc;
	rc = gt_merge_mesh_only(made, err);
	if (!rc)
		rc = gt_by_size_choose(&made, 1, &best, err);
	if (rc)
		gt_plan_free(made);
	else
		*plan = made;
	return rc;
}

int gt_search_ring_and_mesh(const struct gt_search_request *request,
			    struct gt_plan *plans[2], uint32_t *n,
			    struct gt_err *err)
{
	struct gt_plan *made[2] = {NULL, NULL};
	struct gt_search_stats stats = {0};
	int rc = gt_search_shape_plans(request, &gt_shape_ring, made, 2, &stats,
				       err);

	*n = 0;
	if (rc)
		gt_plan_free(made[0]);
	else
		plans[(*n)++] = made[0];
	if (!rc)
		rc = gt_merge_mesh_only(made[1], err);
	if (rc)
		gt_plan_free(made[1]);
	else
		plans[(*n)++] = made[1];
	return rc;
}

/* The algorithms that do the collective: auto and mesh do all of them. */
static int gt_search_refuse(const char *algo, enum gt_coll coll,
			    struct gt_err *err)
{
	char others[64] = "";
	size_t len = 0;

	for (size_t i = 0; i < GT_NSHAPETABLE; i++)
		if (gt_shapes[i]->supports(coll))
			len += (size_t)snprintf(others + len,
						sizeof(others) - len, ", %s",
						gt_shapes[i]->name);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "--algo %s cannot do %s; auto%s and mesh can", algo,
			  gt_coll_name(coll), others);
}

int gt_search(const struct gt_search_request *request, const char *algo,
	      struct gt_plan **plan, struct gt_search_stats *stats,
	      struct gt_err *err)
{
	const struct gt_shape_entry *shape = gt_search_shape(algo);
	struct gt_search_stats took = {0};
	int rc;

	if (shape && !shape->supports(request->coll))
		rc = gt_search_refuse(algo, request->coll, err);
	else if (request->equal && gt_coll_only_moves(request->coll))
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--equal is for rings and trees, not for %s",
				gt_coll_name(request->coll));
	else if (shape || request->demand)
		rc = gt_search_shape_plan(
			request, request->demand ? &gt_shape_flow : shape, plan,
			&took, err);
	else if (!strcmp(algo, "auto"))
		rc = gt_search_all(request, plan, &took, err);
	else if (!strcmp(algo, "mesh"))
		rc = gt_search_mesh(request, plan, &took, err);
	else
		rc = gt_err_set(err, GT_EINPUT, NULL, "'%s' is no algorithm",
				algo);
	if (stats)
		*stats = took;
	return rc;
}
