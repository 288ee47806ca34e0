#include "search/search.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/bound.h"
#include "search/emit.h"
#include "search/request.h"
#include "search/shape.h"

static const struct gt_shape_entry *const gt_shapes[] = {
	&gt_shape_ring,
};

static const struct gt_shape_entry *gt_search_shape(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_shapes) / sizeof(gt_shapes[0]); i++)
		if (!strcmp(gt_shapes[i]->name, name))
			return gt_shapes[i];
	return NULL;
}

/* What bounds everything bounds this shape too. */
static void gt_search_tighten(struct gt_proposal *proposal,
			      const struct gt_bound *bound)
{
	if (!bound->found)
		return;
	if (proposal->has_bound &&
	    gt_rat_cmp(proposal->bound, bound->value) <= 0)
		return;
	proposal->has_bound = 1;
	proposal->bound = bound->value;
	proposal->nprices = 0;
}

static int gt_search_run(const struct gt_request *request,
			 const struct gt_shape_entry *shape,
			 struct gt_proposal *proposal, struct gt_arena *arena,
			 struct gt_plan **plan, struct gt_err *err)
{
	struct gt_shape_args args = {.max_channels = request->max_channels,
				     .watch = request->watch,
				     .arena = arena};
	struct gt_bound bound;
	struct gt_found found = {request, NULL, proposal, &bound};
	struct gt_fabric *fabric;
	int rc = gt_request_fabric(request, arena, &fabric, err);

	if (rc)
		return rc;
	args.fabric = found.fabric = fabric;
	rc = shape->propose(&args, proposal, err);
	if (!rc)
		rc = gt_bound_find(fabric, request->coll, arena, &bound, err);
	if (rc)
		return rc;
	gt_search_tighten(proposal, &bound);
	return gt_emit(&found, plan, err);
}

int gt_search(const struct gt_request *request, const char *algo,
	      struct gt_plan **plan, struct gt_search_stats *stats,
	      struct gt_err *err)
{
	const struct gt_shape_entry *shape = gt_search_shape(algo);
	struct gt_proposal proposal = {0};
	struct gt_arena *arena;
	int rc;

	if (!shape)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%s' is no algorithm; 'ring' is", algo);
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_run(request, shape, &proposal, arena, plan, err);
	if (stats) {
		stats->nrows = proposal.nrows;
		stats->ncolumns = proposal.ncolumns;
		stats->nrounds = proposal.nrounds;
	}
	gt_arena_free(arena);
	return rc;
}
