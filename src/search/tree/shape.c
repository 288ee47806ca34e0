/*
 * Forests as a shape: the bound by cuts, the packing of trees, its few
 * channels, and whole trees for equal shares.
 */
#include "search/problem/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/graph/graph.h"
#include "search/lp/diving.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"
#include "search/tree/shares.h"
#include "search/tree/exact.h"
#include "search/tree/master.h"

/*
 * Convert a rate from the unit of rings to that of trees
 * (search/bound/bound.h).
 */
static int gt_forest_unit(const struct gt_shape_args *args,
			  struct gt_rat *value)
{
	int64_t n = args->fabric->nranks;
	int64_t each = args->coll == GT_COLL_ALLREDUCE ? 2 : 1;

	if (gt_coll_is_rooted(args->coll))
		return 1;
	return gt_rat_mul(*value, GT_RAT(n, each * (n - 1)), value);
}

static int gt_forest_cut(const struct gt_shape_args *args,
			 struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_bound_query ask = {args->fabric, args->coll, args->root};
	int rc;

	proposal->cut = gt_arena_alloc(args->arena, sizeof(*proposal->cut));
	if (!proposal->cut)
		return gt_err_nomem(err);
	rc = gt_bound_find_routed(&ask, args->arena, proposal->cut, err);
	if (rc || !proposal->cut->found)
		return rc;
	proposal->bound = proposal->cut->value;
	proposal->has_bound = gt_forest_unit(args, &proposal->bound);
	return GT_OK;
}

static int gt_forest_channel(const struct gt_forest *f, uint32_t which,
			     struct gt_proposal_channel *out)
{
	struct gt_arena *arena = f->args->arena;
	struct gt_pool_tree tree = gt_tree_pool_get(&f->trees, which);
	uint32_t n = f->hops.n;

	out->root = tree.root;
	out->parent = gt_arena_array(arena, n, sizeof(*out->parent));
	out->down = gt_arena_array(arena, n, sizeof(*out->down));
	out->up = gt_arena_array(arena, n, sizeof(*out->up));
	if (!out->parent || !out->down || !out->up)
		return GT_ESYS;
	memcpy(out->parent, tree.parent, n * sizeof(*out->parent));
	for (uint32_t v = 0; v < n; v++) {
		if (tree.down[v] != GT_TREE_ROOT)
			out->down[v] =
				gt_tree_hops_route(&f->hops, tree.down[v]);
		if (tree.up[v] != GT_TREE_ROOT)
			out->up[v] = gt_tree_hops_route(&f->hops, tree.up[v]);
	}
	return GT_OK;
}

/* Compare channels by root, then the larger first, then by parents. */
static int gt_forest_channel_cmp(const void *a, const void *b, void *n)
{
	const struct gt_proposal_channel *x = a, *y = b;
	int cmp = (x->root > y->root) - (x->root < y->root);

	if (!cmp)
		cmp = gt_rat_cmp(y->gbs, x->gbs);
	for (uint32_t i = 0; !cmp && i < *(const uint32_t *)n; i++)
		cmp = (x->parent[i] > y->parent[i]) -
		      (x->parent[i] < y->parent[i]);
	return cmp;
}

static int gt_forest_channels(const struct gt_forest *f,
			      const struct gt_forest_shares *shares,
			      struct gt_proposal *proposal)
{
	uint32_t n = f->hops.n;

	proposal->channels = gt_arena_array(f->args->arena, shares->ntrees,
					    sizeof(*proposal->channels));
	if (!proposal->channels)
		return GT_ESYS;
	for (uint32_t i = 0; i < shares->ntrees; i++) {
		if (gt_forest_channel(f, shares->trees[i],
				      &proposal->channels[i]))
			return GT_ESYS;
		gt_rat_make(shares->nums[i], shares->den,
			    &proposal->channels[i].gbs);
	}
	proposal->nchannels = shares->ntrees;
	proposal->value = shares->value;
	qsort_r(proposal->channels, shares->ntrees, sizeof(*proposal->channels),
		gt_forest_channel_cmp, &n);
	return GT_OK;
}

/*
 * Where routes are fixed no cut may be as tight as prices are.  For
 * all-reduce they are about trees only, the cut is about everything.
 */
static int gt_forest_tighten(struct gt_forest *f, struct gt_proposal *proposal,
			     struct gt_err *err)
{
	struct gt_rat bound = proposal->bound;
	int had = proposal->has_bound, rc;

	rc = gt_forest_prove(f, proposal, err);
	if (rc && rc != GT_ENO)
		return rc;
	if (!rc && had && gt_rat_cmp(proposal->bound, bound) >= 0)
		rc = GT_ENO;
	if (rc) {
		proposal->bound = bound;
		proposal->nprices = 0;
		return GT_OK;
	}
	proposal->has_bound = 1;
	if (f->trees.use != GT_TREE_BOTH) {
		proposal->cut = NULL;
		return GT_OK;
	}
	proposal->class_ = GT_PROOF_TREE;
	proposal->has_any_bound = had;
	proposal->any_bound = bound;
	return GT_OK;
}

static int gt_forest_run(struct gt_forest *f, struct gt_proposal *proposal,
			 struct gt_err *err)
{
	struct gt_forest_shares shares;
	int rc;

	if (proposal->has_bound)
		f->target = proposal->bound;
	rc = gt_forest_solve(f, &shares, err);
	if (rc)
		return rc;
	if (!proposal->has_bound ||
	    gt_rat_cmp(shares.value, proposal->bound) < 0)
		rc = gt_forest_tighten(f, proposal, err);
	if (!rc && proposal->has_bound && !f->args->bare)
		rc = gt_forest_reduce_trees(f, proposal->bound, &shares, err);
	if (!rc && proposal->has_bound && !f->args->bare &&
	    gt_rat_cmp(shares.value, proposal->bound) < 0)
		rc = gt_forest_round(f, proposal->bound, &shares, err);
	if (rc)
		return rc;
	proposal->nrows = f->hops.nrows;
	proposal->ncolumns = f->trees.ntrees;
	proposal->nrounds = f->nrounds;
	return gt_forest_channels(f, &shares, proposal) ? gt_err_nomem(err)
							: GT_OK;
}

/* For one rank there is nothing to move and nothing to prove. */
static int gt_forest_alone(const struct gt_shape_args *args,
			   struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_proposal_channel *channel =
		gt_arena_alloc(args->arena, sizeof(*channel));

	if (!channel)
		return gt_err_nomem(err);
	channel->gbs = GT_RAT(0, 1);
	channel->parent = gt_arena_alloc(args->arena, sizeof(uint32_t));
	channel->down = gt_arena_alloc(args->arena, sizeof(*channel->down));
	channel->up = gt_arena_alloc(args->arena, sizeof(*channel->up));
	if (!channel->parent || !channel->down || !channel->up)
		return gt_err_nomem(err);
	channel->parent[0] = GT_TREE_ROOT;
	proposal->channels = channel;
	proposal->nchannels = 1;
	proposal->value = proposal->bound = GT_RAT(0, 1);
	proposal->has_bound = 1;
	return GT_OK;
}

static int gt_forest_propose(const struct gt_shape_args *args,
			     struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_forest f = {0};
	int rc;

	memset(proposal, 0, sizeof(*proposal));
	proposal->shape = GT_SHAPE_TREE;
	proposal->class_ = GT_PROOF_ANY;
	if (args->fabric->nranks == 1)
		return gt_forest_alone(args, proposal, err);
	if (args->fabric->nranks > GT_PRIM_MAX)
		return gt_err_set(err, GT_ENO, NULL,
				  "%u GPUs are too many for the search for "
				  "trees; name up to %d with --gpus",
				  args->fabric->nranks, GT_PRIM_MAX);
	rc = gt_forest_cut(args, proposal, err);
	if (!rc)
		rc = gt_forest_init(&f, args, err);
	if (!rc)
		rc = gt_forest_run(&f, proposal, err);
	gt_forest_release(&f);
	return rc;
}

/* ---- trees of 1 GB/s each ----------------------------------------------- */

/* Rounds of pricing between two steps. */
enum { GT_INTEGRAL_ROUNDS = 100 };

static int gt_forest_integral_solve(void *arg, struct gt_err *err)
{
	return gt_forest_reach(arg, GT_INTEGRAL_ROUNDS, err);
}

/* Some roots may have more than they need. */
static int gt_forest_integral_channels(struct gt_forest *f,
				       const struct gt_diving *dive,
				       uint32_t count,
				       struct gt_proposal *proposal,
				       struct gt_err *err)
{
	struct gt_arena *arena = f->args->arena;
	size_t all = (size_t)count * f->nroots;
	uint32_t *have = gt_arena_array(arena, f->nroots, sizeof(*have));
	struct gt_proposal_channel one = {0};

	proposal->channels =
		gt_arena_array(arena, all, sizeof(*proposal->channels));
	if (!proposal->channels || !have)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->trees.ntrees; i++) {
		int64_t left = gt_diving_count(dive, i + 1);
		uint32_t root = gt_forest_root(f, i);

		if (left && gt_forest_channel(f, i, &one))
			return gt_err_nomem(err);
		one.gbs = GT_RAT(1, 1);
		for (; left > 0 && have[root] < count; left--, have[root]++)
			proposal->channels[proposal->nchannels++] = one;
	}
	return proposal->nchannels == all ? GT_OK : GT_ENO;
}

static int gt_forest_integral(const struct gt_shape_args *args, uint32_t count,
			      int *none, struct gt_proposal *proposal,
			      struct gt_err *err)
{
	struct gt_forest f = {0};
	struct gt_diving dive = {NULL, 1, gt_forest_integral_solve, &f};
	int rc = gt_forest_init(&f, args, err);

	*none = 0;
	if (!rc)
		rc = gt_forest_seed(&f, err);
	if (!rc) {
		dive.lp = f.lp;
		f.target = GT_RAT((int64_t)count * f.nroots, 1);
		gt_lp_set_bounds(f.lp, 0, 0, count);
		rc = gt_diving(&dive, err);
	}
	if (!rc)
		rc = gt_forest_integral_channels(&f, &dive, count, proposal,
						 err);
	gt_forest_release(&f);
	return rc;
}

const struct gt_shape_entry gt_shape_forest = {
	.name = "forest",
	.shape = GT_SHAPE_TREE,
	.supports = gt_shape_spreads,
	.propose = gt_forest_propose,
	.integral = gt_forest_integral,
};
